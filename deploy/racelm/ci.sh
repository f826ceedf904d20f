#!/usr/bin/env bash
# Tests what of racelm needs neither a GPU nor PyTorch: the parser, the tasks, the wire.
# Needs Python 3.10 or newer.
set -euo pipefail
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1
python3 -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name)' ./*.py
python3 -m unittest -q test_text
