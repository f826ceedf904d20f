#!/usr/bin/env bash
# Shows turnwatch catching a real race: trains the model unless weights.pt is there, runs the eight
# combinations of index dtype, CUDA graph and overlap at a batch of 32 with turnwatch in between, and prints
# what the sidecar's journal says. About six minutes on an H200, and three more to train.
set -euo pipefail
cd "$(dirname "$0")"
for need in python3 turnwatch turnstress turnreport; do
	command -v "$need" >/dev/null || {
		echo "demo.sh needs $need on the PATH" >&2
		exit 2
	}
done
python3 -c 'import aiohttp, torch; assert torch.cuda.is_available(), "PyTorch sees no CUDA GPU"'
[ -f weights.pt ] || python3 train.py --out weights.pt --steps 3500 --sparse-steps 700 --index-from 1500
out=${1:-demo}
./measure.sh matrix "$out"
turnreport -html "$out/report.html" "$out"/matrix/sidecar-all.jsonl || [ $? = 1 ]
echo "the whole report is in $out/report.html"
