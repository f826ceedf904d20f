#!/usr/bin/env bash
# Checks the SGLang plugin: lint, types, and its tests inside two releases of SGLang; also that
# the judge's samples of whole marks (validate/testdata) are what these releases send.
# Needs Go, CPython 3.11 and a package index for pip. Downloads are kept in a cache folder,
# TURNWATCH_SGLANG_CACHE, by default below TMPDIR. Every fault ends it.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD

releases=(0.5.12 0.5.23)
cache=${TURNWATCH_SGLANG_CACHE:-${TMPDIR:-/tmp}/turnwatch-sglang-cache}
# The releases' wheels are built per version of CPython.
python=
for candidate in ${PYTHON:-python3 python3.11}; do
	if "$candidate" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || {
	echo "deploy/sglang/ci.sh needs CPython 3.11 with venv; name it in PYTHON" >&2
	exit 1
}
key=$("$python" -c 'import hashlib, sys; print(sys.version.split()[0] + "-" + hashlib.sha256(open("requirements-test.txt", "rb").read()).hexdigest()[:12])')
venv=$cache/venv-$key
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_INPUT=1

# ready makes a folder with a command, once: a half-made one is made anew.
ready() {
	local folder=$1
	shift
	[ -e "$folder/.ready" ] && return
	rm -rf "$folder"
	"$@"
	touch "$folder/.ready"
}

make_venv() {
	"$python" -m venv "$venv"
	"$venv/bin/pip" install -q -r requirements-test.txt
}

make_release() {
	"$venv/bin/pip" install -q --no-deps --only-binary :all: --target "$cache/sglang-$1" "sglang==$1"
}

mkdir -p "$cache"
ready "$venv" make_venv
for release in "${releases[@]}"; do
	ready "$cache/sglang-$release" make_release "$release"
done

# The plugin is installed as its users do it, out of a copy: pip builds in place.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R pyproject.toml README.md src "$work"
"$venv/bin/pip" install -q --force-reinstall --no-build-isolation "$work"

"$venv/bin/ruff" check --no-cache .
"$venv/bin/ruff" format --no-cache --check .
"$venv/bin/mypy" --strict --cache-dir "$work/mypy" src

(cd "$here/../.." && go build -o "$work/turnwatch" ./cmd/turnwatch)
for release in "${releases[@]}"; do
	echo "--- sglang $release"
	PYTHONPATH=$cache/sglang-$release TURNWATCH_BINARY=$work/turnwatch \
		"$venv/bin/python" -W ignore -m pytest -W ignore -p no:cacheprovider --basetemp "$work/pytest" tests
done
