#!/usr/bin/env bash
# Measures the race through turnwatch, one part at a time, each within nine minutes on an H200:
#   measure.sh matrix|again|single|others|observer|identical|shadow|sources|blocks FOLDER
# In this folder, with weights.pt in it; turnwatch, turnstress and turnreport on the PATH. What a part
# brings goes to FOLDER/PART; a part that was interrupted goes on where it was. SESSIONS is how many a run of
# sources (560) or a block of blocks (160) plays.
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

# ready waits until what was started last answers, and ends all if it does not live.
ready() {
	until python3 -c "import urllib.request as u; u.urlopen('$1')" 2>/dev/null; do
		kill -0 "${servers[-1]}"
		sleep 0.1
	done
}

# serve starts a server and waits for it.
serve() {
	local port=$1
	shift
	python3 server.py --port "$port" "$@" >>"$out/server-$port.log" 2>&1 &
	servers+=($!)
	ready "http://127.0.0.1:$port/health"
}
servers=()
trap quit EXIT

# watch puts turnwatch in front of port 30000, at 8080.
watch() {
	turnwatch -upstream http://127.0.0.1:30000 "$@" >>"$out/turnwatch.log" 2>&1 &
	servers+=($!)
	ready "http://127.0.0.1:9464/livez"
}

# link puts one more turnwatch into a chain: it listens at one port, and its server is at another.
link() {
	local name=$1 listen=$2 next=$3
	shift 3
	turnwatch -upstream "http://127.0.0.1:$next" -listen "127.0.0.1:$listen" -admin off -journal "$out/$name.jsonl" "$@" >>"$out/$name.log" 2>&1 &
	servers+=($!)
	ready "http://127.0.0.1:$listen/health"
}

# quit ends what was started, the last first.
quit() {
	local i
	for ((i = ${#servers[@]} - 1; i >= 0; i--)); do
		kill "${servers[i]}" 2>/dev/null || true
		wait "${servers[i]}" 2>/dev/null || true
	done
	servers=()
}

# sources plays through a chain of sidecars, each of which knows one source, and holds what they say
# against the steps of the engine. The server sends so many tokens an event.
sources() {
	local blind=(-tag-prefix x-none-)
	rm -rf "$out" && mkdir "$out"
	trap quit EXIT
	TURNWATCH_KEEP_TOKENS=1 serve 30000 --stream-interval "$1"
	link own 8085 30000 "${blind[@]}" -no-poll
	link poll 8084 8085 "${blind[@]}"
	link facts 8083 8084 "${blind[@]}" -turn-facts /turnwatch/turns -no-poll
	link facts-interval 8082 8083 "${blind[@]}" -turn-facts /turnwatch/turns
	link all 8080 8082
	python3 sources.py --url http://127.0.0.1:8080 --server http://127.0.0.1:30000 --sessions "${SESSIONS:-560}" --truth "$out/truth.jsonl"
	quit
	python3 sources.py --truth "$out/truth.jsonl" "$out"/{facts,facts-interval,poll,own,all}.jsonl >"$out/table.txt"
	mv "$out/table.txt" "$out/report.txt"
	cat "$out/report.txt"
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
others) # other batches, and more of the keys read late
	cells batches -e 's/index-dtype: \[.*/index-dtype: [bf16]/; s/cuda-graph: \[.*/cuda-graph: ["on"]/; s/overlap: \[.*/overlap: ["on"]/; s/max-batch: \[.*/max-batch: ["8", "16"]/'
	cells harsher -e 's/index-dtype: \[.*/index-dtype: [bf16]/; s/cuda-graph: \[.*/cuda-graph: ["on"]/; s/max-batch: \[.*/max-batch: ["32"]\n  score-rows: ["8192", "4096"]/; s/"{max-batch}"\]/"{max-batch}", --score-rows, "{score-rows}"]/; s/sessions: .*/sessions: 80/'
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
sources) # what each source says of the batch at the first wrong token
	for interval in 4 1; do
		[ -f "$out/interval-$interval/report.txt" ] || (out=$out/interval-$interval && sources "$interval")
	done
	;;
blocks) # the fault and the fix by turns, one server at a time, each block a boot of its own
	n=0
	for arm in off on on off on off off on; do
		n=$((n + 1))
		[ ! -f "$out/done-$n" ] || continue
		rm -f "$out"/*-"$n".jsonl*
		serve 30000 --hold-staged "$arm"
		watch -journal "$out/sidecar-$n.jsonl"
		# Both blocks of a pair play the same sessions.
		stress -target http://127.0.0.1:8080 -name "block-$n" -seed $(((n - 1) / 2 * 1000 + 1)) -sessions "${SESSIONS:-160}" \
			-journal "$out/client-$n.jsonl" >"$out/done.txt"
		quit
		grep ^CORRUPTION "$out/done.txt"
		mv "$out/done.txt" "$out/done-$n"
	done
	turnreport -a hold_staged=off -b hold_staged=on "$out"/sidecar-*.jsonl >"$out/report.txt" || [ $? = 1 ] || [ $? = 3 ]
	sed '/^RATE BY BATCH/,$d' "$out/report.txt"
	;;
*)
	echo "measure.sh: no part $part" >&2
	exit 2
	;;
esac
