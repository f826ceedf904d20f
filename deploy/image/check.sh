#!/usr/bin/env bash
# Builds both images, runs them as a cluster would, and checks what the README
# says of them. It needs root, Go, buildah, podman, runc, catatonit,
# busybox-static and curl (Debian's packages of those names), and no network
# beyond what Go modules take.
#
# Where no registry can be reached, stand-ins take the place of the two base
# images: busybox with this machine's Go, and nothing but certificates and a
# user. GO_IMAGE and RUN_IMAGE name others.
set -euo pipefail
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
export STORAGE_DRIVER=${STORAGE_DRIVER:-overlay} CONTAINERS_CONF=$PWD/deploy/image/containers.conf
store=(--root "$scratch/root" --runroot "$scratch/runroot")
trap finish EXIT
finish() {
	local code=$?
	podman "${store[@]}" rm -af -t 1 >/dev/null 2>&1 || true
	buildah "${store[@]}" rm -a >/dev/null 2>&1 || true
	umount "$scratch/root/overlay" 2>/dev/null || true
	rm -rf "$scratch"
	exit $code
}

say() { printf '%s: %s\n' "$1" "$2"; }
fail() {
	printf 'FAIL %s\n' "$*" >&2
	exit 1
}

# go_stand_in makes what a Go image has and the Dockerfile uses.
go_stand_in() {
	local c m
	c=$(buildah "${store[@]}" from scratch)
	m=$(buildah "${store[@]}" mount "$c")
	mkdir -p "$m"/{bin,tmp,etc/ssl/certs,root} "$m/usr/local"
	cp "$(command -v busybox)" "$m/bin/busybox"
	for tool in sh mkdir find mv cp ls; do ln -s busybox "$m/bin/$tool"; done
	cp /etc/ssl/certs/ca-certificates.crt "$m/etc/ssl/certs/"
	cp -a "$(go env GOROOT)" "$m/usr/local/go"
	buildah "${store[@]}" umount "$c" >/dev/null
	buildah "${store[@]}" config --env PATH=/usr/local/go/bin:/bin --env GOPATH=/go --env GOFLAGS= --env GOTOOLCHAIN=local "$c"
	buildah "${store[@]}" commit -q "$c" localhost/golang:local >/dev/null
	buildah "${store[@]}" rm "$c" >/dev/null
}

# run_stand_in makes what a static base image has.
run_stand_in() {
	local c m
	c=$(buildah "${store[@]}" from scratch)
	m=$(buildah "${store[@]}" mount "$c")
	mkdir -p "$m/etc/ssl/certs" "$m/tmp"
	cp /etc/ssl/certs/ca-certificates.crt "$m/etc/ssl/certs/"
	printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' >"$m/etc/passwd"
	buildah "${store[@]}" umount "$c" >/dev/null
	buildah "${store[@]}" commit -q "$c" localhost/static:nonroot >/dev/null
	buildah "${store[@]}" rm "$c" >/dev/null
}

[ -n "${GO_IMAGE:-}" ] || { go_stand_in && GO_IMAGE=localhost/golang:local; }
[ -n "${RUN_IMAGE:-}" ] || { run_stand_in && RUN_IMAGE=localhost/static:nonroot; }
modules=$(go env GOMODCACHE)
go mod download
for target in turnwatch tools; do
	buildah "${store[@]}" bud --runtime runc --isolation "${ISOLATION:-oci}" --network host --layers \
		-v "$modules:/go/pkg/mod" -v "$(go env GOCACHE):/root/.cache/go-build" \
		--build-arg GO_IMAGE="$GO_IMAGE" --build-arg RUN_IMAGE="$RUN_IMAGE" \
		--build-arg VERSION=9.8.7 --build-arg REVISION=abc123 \
		--target "$target" -t "localhost/$target:dev" . >"$scratch/build.$target" 2>&1 ||
		{ tail -n 30 "$scratch/build.$target" >&2 && fail "buildah bud --target $target"; }
done

of() { podman "${store[@]}" image inspect --format "$2" "localhost/$1:dev"; }
for target in turnwatch tools; do
	[ "$(of $target '{{.Config.User}}')" = 65532:65532 ] || fail "$target runs as $(of $target '{{.Config.User}}')"
done
[ "$(of turnwatch '{{json .Config.Entrypoint}}')" = '["/turnwatch"]' ] || fail "entrypoint $(of turnwatch '{{json .Config.Entrypoint}}')"
for label in title=turnwatch licenses=Apache-2.0 version=9.8.7 revision=abc123 base.name="$RUN_IMAGE"; do
	got=$(of turnwatch "{{index .Config.Labels \"org.opencontainers.image.${label%%=*}\"}}")
	[ "$got" = "${label#*=}" ] || fail "label ${label%%=*}: got $got, want ${label#*=}"
done
bytes=$(of turnwatch '{{.Size}}')
[ "$bytes" -lt 25000000 ] || fail "the image has $bytes bytes, want less than 25 MB"
say size "$bytes bytes"

# confined runs a container as the strictest cluster would.
confined() {
	podman "${store[@]}" run --read-only --read-only-tmpfs=false --cap-drop=all --security-opt no-new-privileges \
		--memory 128m --network host "$@"
}
say version "$(confined --rm localhost/turnwatch:dev -version)"
confined --rm localhost/turnwatch:dev -version | grep -q '^turnwatch 9.8.7 ' || fail 'the version is not stamped'

confined -d --name sim localhost/tools:dev simsglang -listen 127.0.0.1:31300 -step 2ms -fault special_token:1 >/dev/null
confined -d --name turnwatch localhost/turnwatch:dev -upstream http://127.0.0.1:31300 \
	-listen 127.0.0.1:31380 -admin 127.0.0.1:31364 -journal - >/dev/null

# answers waits for a URL to be there.
answers() { curl -sf --retry 60 --retry-delay 1 --retry-connrefused -o /dev/null "$1" || fail "no answer from $1"; }
answers http://127.0.0.1:31364/livez
answers http://127.0.0.1:31364/readyz
answers http://127.0.0.1:31300/v1/models

curl -sf -o "$scratch/answer" http://127.0.0.1:31380/v1/chat/completions -H 'content-type: application/json' \
	-d '{"model": "sim/DeepSeek-V4", "messages": [{"role": "user", "content": "Is all well?"}]}' || fail 'the turn got no answer'
for _ in $(seq 60); do
	podman "${store[@]}" logs turnwatch 2>/dev/null | grep -q '"verdict"' && break
	sleep 1
done
podman "${store[@]}" logs turnwatch 2>/dev/null | grep '"verdict"' | grep -o '"verdict":"[a-z]*"' | sed 's/^/turn: /'
podman "${store[@]}" logs turnwatch 2>/dev/null | grep -q '"verdict":"corrupted"' || fail 'the corrupted turn is not in the journal'
rss=$(curl -sf http://127.0.0.1:31364/metrics | awk '/^(go_|turnwatch_)?process_resident_memory_bytes/ { print $2 }')
say 'resident memory' "${rss:-not told} bytes"

podman "${store[@]}" stop -t 40 turnwatch >/dev/null
code=$(podman "${store[@]}" inspect --format '{{.State.ExitCode}}' turnwatch)
[ "$code" = 0 ] || fail "SIGTERM: exit $code, want 0"
[ -z "$(podman "${store[@]}" diff turnwatch 2>/dev/null | grep -vE '^[CA] /(etc|run|dev|proc|sys|tmp)' || true)" ] || fail "files were written: $(podman "${store[@]}" diff turnwatch)"
say drained "exit $code"
echo 'image: all good'
