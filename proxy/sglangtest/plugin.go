package sglangtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FactsPath is where the plugin tells the facts of a turn: FactsPath/RID.
const FactsPath = "/turnwatch/turns"

// plugged reports whether a part of the plugin is there.
func (s *Server) plugged(part string) bool {
	return s.cfg.Plugin && !slices.Contains(s.cfg.Omit, part)
}

// fields are what the plugin adds to the head of an answer.
func (s *Server) fields(rec *Record) []string {
	onOff := map[bool]string{true: "on", false: "off"}
	s.engine.mu.Lock()
	batch, bucket, queue := rec.Batch, rec.Bucket, rec.Queue
	s.engine.mu.Unlock()
	var all []string
	for _, f := range []struct{ name, value string }{
		{"rid", rec.RID}, {"version", s.cfg.Version}, {"dp-rank", "0"},
		{"batch-size", strconv.Itoa(batch)}, {"graph-bucket", strconv.Itoa(bucket)}, {"queue-depth", strconv.Itoa(queue)},
		{"config-index-dtype", s.cfg.IndexDtype}, {"config-cuda-graph", onOff[!s.cfg.DisableCUDAGraph]},
		{"config-overlap", onOff[!s.cfg.DisableOverlap]}, {"turn-facts", FactsPath},
	} {
		if s.plugged(f.name) {
			all = append(all, "x-sglang-"+f.name+": "+f.value)
		}
	}
	return all
}

// facts tells what is known of one request.
func (s *Server) facts(w *writer, rid string, ids bool) {
	body := s.engine.facts(rid, ids)
	if body == nil {
		s.notFound(w)
		return
	}
	b, _ := json.Marshal(body) // plain data
	w.json(http.StatusOK, b)
}

// facts is what the engine knows of one request, nil for one it does not; the
// ids of its tokens where they are kept and wanted.
func (e *engine) facts(rid string, ids bool) object {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range slices.Backward(e.records) {
		if r.RID != rid {
			continue
		}
		runs := []object{}
		for _, run := range r.Runs {
			runs = append(runs, object{"first_step": run.First, "last_step": run.Last, "batch": run.Batch, "bucket": run.Bucket,
				"t0_ms": millis(run.Begin), "t1_ms": millis(run.End)})
		}
		facts := object{"rid": r.RID, "prompt_tokens": r.PromptTokens, "completion_tokens": r.CompletionTokens, "cuda_graph": r.CUDAGraph,
			"decode_runs": runs, "retractions": 0}
		if ids && r.ended && r.kept {
			tell(facts, "input_ids", r.InputIDs, r.PromptTokens)
			tell(facts, "output_ids", r.OutputIDs, r.CompletionTokens)
		}
		return facts
	}
	return nil
}

// tell adds a list of ids to facts, or where it is not whole how many there were.
func tell(facts object, name string, ids []int32, of int) {
	if len(ids) == of {
		facts[name] = ids
	} else {
		facts[name+"_of"] = of
	}
}

func millis(t time.Time) float64 { return float64(t.UnixMicro()) / 1e3 }

// admits reports whether a request has a key that is wanted of it.
func (s *Server) admits(req *http.Request) bool {
	path := req.URL.Path
	if s.cfg.APIKey == "" && s.cfg.AdminAPIKey == "" ||
		path == "/ping" || strings.HasPrefix(path, "/health") || strings.HasPrefix(path, "/metrics") {
		return true
	}
	return s.owns(req)
}

// status writes a line of the status log when one is due. mu is held.
func (e *engine) status(now time.Time) {
	if e.cfg.StatusLog == nil || now.Sub(e.logged) < e.cfg.StatusEvery {
		return
	}
	e.logged = now
	names := func(list []*seq) []string {
		rids := []string{}
		for _, q := range list {
			rids = append(rids, q.rec.RID)
		}
		return rids
	}
	line, _ := json.Marshal(object{"timestamp": seconds(now), "event": "scheduler.status", "rank": 0,
		"running_rids": names(e.running), "queued_rids": names(e.queue)}) // plain data
	fmt.Fprintf(e.cfg.StatusLog, "%s\n", line)
}

// told is the load as it was last published.
func (s *Server) told() Load {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	return s.engine.told
}
