#!/usr/bin/env bash
# Measures the race through turnwatch, one part at a time, each within nine minutes on an H200:
#   measure.sh matrix|again|single|observer|identical|shadow FOLDER
# In this folder, with weights.pt in it; turnwatch, turnstress and turnreport on the PATH. What a part
# brings goes to FOLDER/PART; a part that was interrupted goes on where it was.
set -euo pipefail
cd "$(dirname "$0")"
part=$1 out=$2/$1 here=$PWD
mkdir -p "$out"

# cells runs a launch matrix made of matrix.yaml by sed, into journals of its own.
cells() {
	local name=$1
	shift
	sed "$@" -e "s#server.py#$here/server.py#; s#--port,#--weights, $here/weights.pt, --port,#; s#sidecar.jsonl#sidecar-$name.jsonl#" matrix.yaml >"$out/$name.yaml"
	(cd "$out" && turnstress matrix -quiet -journal "client-$name.jsonl" "$name.yaml") || [ $? = 1 ]
}

# serve starts a server and waits for it.
serve() {
	local port=$1
	shift
	python3 server.py --port "$port" "$@" >>"$out/server-$port.log" 2>&1 &
	servers+=($!)
	until python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/health')" 2>/dev/null; do
		kill -0 "${servers[-1]}"
		sleep 0.2
	done
}
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; wait' EXIT

# watch puts turnwatch in front of port 30000, at 8080.
watch() {
	turnwatch -upstream http://127.0.0.1:30000 "$@" >>"$out/turnwatch.log" 2>&1 &
	servers+=($!)
	until python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:9464/livez')" 2>/dev/null; do
		kill -0 "${servers[-1]}"
		sleep 0.1
	done
}

# stress plays racelm's sessions; corruption is no failure here.
stress() { turnstress -quiet -scenario racelm "$@" || [ $? = 1 ] || [ $? = 3 ]; }

case $part in
matrix) cells all ;;
again) # two more boots of the cell with the fault and of those with one thing changed
	cells first -e '/^load:/i boots: 2\nskip:\n  - {index-dtype: fp8, cuda-graph: "off"}\n  - {index-dtype: fp8, overlap: "off"}\n  - {cuda-graph: "off", overlap: "off"}'
	;;
single)
	cells graph -e 's/max-batch: .*/max-batch: ["1"]/; s/cuda-graph: .*/cuda-graph: ["on"]/; s/sessions: .*/sessions: 36/; /^load:/i boots: 3'
	cells eager -e 's/max-batch: .*/max-batch: ["1"]/; s/cuda-graph: .*/cuda-graph: ["off"]/; s/sessions: .*/sessions: 12/'
	;;
observer) # through turnwatch and directly, in one boot, in waves that never share a batch
	serve 30000
	watch -journal "$out/sidecar.jsonl"
	stress -target http://127.0.0.1:8080 -target-b http://127.0.0.1:30000 -waves -sessions 800 -margin 10% \
		-journal "$out/client.jsonl" | tee "$out/report.txt"
	;;
identical) # what a clean cell answers, through turnwatch and directly
	serve 30000 --overlap off
	watch -journal "$out/sidecar.jsonl"
	python3 identical.py http://127.0.0.1:8080 http://127.0.0.1:30000 | tee "$out/report.txt"
	;;
shadow) # the fix as candidate, the same fault as control
	serve 30000
	watch -journal "$out/alone.jsonl"
	stress -target http://127.0.0.1:8080 -sessions 160 | tee "$out/alone.txt"
	kill "${servers[1]}" && wait "${servers[1]}" || true
	serve 30001 --hold-staged on
	serve 30002
	watch -journal "$out/sidecar.jsonl" -shadow candidate=http://127.0.0.1:30001 -shadow control=http://127.0.0.1:30002 -shadow-ratio 1 -shadow-concurrency 64 -shadow-queue 256
	stress -target http://127.0.0.1:8080 -sessions 320 | tee "$out/live.txt"
	python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9464/shadow').read().decode())" | tee "$out/shadow.json"
	;;
*)
	echo "measure.sh: no part $part" >&2
	exit 2
	;;
esac
