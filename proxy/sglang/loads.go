package sglang

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// reading is what a poll of a load tells: the load of each rank, and numbers
// that only rise while a server lives.
type reading struct {
	loads   []load
	version string
	totals  map[string]float64
}

var errNoLoad = errors.New("its answer tells no load that can be true")

// maxRanks bounds the data-parallel ranks of a server.
const maxRanks = 256

// parseLoads reads an answer of /v1/loads, or of the older /get_load.
func parseLoads(body []byte) (r reading, err error) {
	if !gjson.ValidBytes(body) {
		return r, errNoLoad
	}
	top := gjson.ParseBytes(body)
	list, running := top, "num_reqs"
	if !top.IsArray() {
		list, running = top.Get("loads"), "num_running_reqs"
		r.version = clean(top.Get("version").String())
	}
	r.totals = make(map[string]float64)
	for _, l := range list.Array() {
		run, wait := l.Get(running), l.Get("num_waiting_reqs")
		n, w := int(run.Int()), int(wait.Int())
		if run.Type != gjson.Number || !plausible(n) || !plausible(w) || len(r.loads) == maxRanks {
			return reading{}, errNoLoad
		}
		if running == "num_reqs" {
			n -= w // the older number counts those that wait
		}
		r.loads = append(r.loads, load{rank: int(l.Get("dp_rank").Int()), running: max(n, 0), waiting: w})
		for _, name := range []string{"total_prefill_uncached_tokens", "total_prefill_busy_us"} {
			r.totals[name] += l.Get(name).Float()
		}
	}
	if len(r.loads) == 0 {
		return reading{}, errNoLoad
	}
	return r, nil
}

// parseMetrics reads what is of use in Prometheus' text format. SGLang's names
// begin with sglang: or, behind some collectors, sglang_.
func parseMetrics(text []byte) (r reading, err error) {
	ranks := make(map[int]*load)
	r.totals = make(map[string]float64)
	for line := range bytes.Lines(text) {
		name, labels, value, ok := series(string(bytes.TrimSpace(line)))
		if !ok || label(labels, "tp_rank", "0") != "0" || label(labels, "pp_rank", "0") != "0" {
			continue
		}
		switch name {
		case "num_running_reqs", "num_queue_reqs":
			rank, err := strconv.Atoi(label(labels, "dp_rank", "0"))
			if err != nil || value < 0 || value > maxCount || len(ranks) == maxRanks && ranks[rank] == nil {
				return reading{}, errNoLoad
			}
			if ranks[rank] == nil {
				ranks[rank] = &load{rank: rank}
			}
			if name == "num_running_reqs" {
				ranks[rank].running += int(value)
			} else {
				ranks[rank].waiting += int(value)
			}
		case "prompt_tokens_total", "generation_tokens_total", "num_requests_total":
			r.totals[name] += value
		}
	}
	for _, l := range ranks {
		r.loads = append(r.loads, *l)
	}
	if len(r.loads) == 0 {
		return reading{}, errNoLoad
	}
	return r, nil
}

// series reads a line of the format; ok is false for those of no interest.
func series(line string) (name, labels string, value float64, ok bool) {
	rest, ok := strings.CutPrefix(line, "sglang")
	if !ok || rest == "" || rest[0] != ':' && rest[0] != '_' {
		return "", "", 0, false
	}
	rest = rest[1:]
	if open := strings.IndexByte(rest, '{'); open >= 0 {
		end := strings.LastIndexByte(rest, '}')
		if end < open {
			return "", "", 0, false
		}
		name, labels, rest = rest[:open], rest[open+1:end], rest[end+1:]
	} else {
		name, rest, _ = strings.Cut(rest, " ")
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err == nil && value == value
}

// label returns a label's value, or otherwise where there is none.
func label(labels, name, otherwise string) string {
	for rest := labels; ; {
		i := strings.Index(rest, name+`="`)
		if i < 0 {
			return otherwise
		}
		value := rest[i+len(name)+2:]
		if end := strings.IndexByte(value, '"'); end >= 0 && (i == 0 || rest[i-1] == ',') {
			return value[:end]
		}
		rest = value
	}
}
