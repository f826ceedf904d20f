package sglang

import (
	"fmt"
	"testing"
	"time"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// toldOf tags a turn with findings and signals whose server tells these facts.
func toldOf(g *Tagger, findings []validate.Finding, signals []validate.Signal) *turn.Turn {
	w := g.Begin()
	w.Head([]byte(factsHead))
	w.End()
	u := &turn.Turn{Time: time.Now(), Status: 200, Ending: "complete"}
	u.Findings, u.Signals, u.Deltas = findings, signals, 4
	recorded := make(chan struct{})
	tag(w, u, func() { close(recorded) })
	<-recorded
	return u
}

func TestIDsOfTokensAreTold(t *testing.T) {
	const lists = `{"rid":"r1","prompt_tokens":2,"completion_tokens":4,"decode_runs":[],"input_ids":[7,8],"output_ids":[1,2,3,4]`
	finding := []validate.Finding{{Kind: validate.SchemaValue, Offset: 90, Delta: 3}}
	signal := []validate.Signal{{Kind: validate.EchoNearMiss, Offset: 50, Delta: 2}}
	f := func(name, facts string, wanted bool, findings []validate.Finding, signals []validate.Signal, want string) {
		t.Helper()
		bubble(t, Config{NoPoll: true, Tokens: wanted}, server{"/turns/r1": always(facts)}, func(t *testing.T, g *Tagger) {
			got := "none"
			if k := toldOf(g, findings, signals).Tokens; k != nil {
				got = fmt.Sprint(k.Input, k.Output, k.Cut, k.First, k.Last)
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		})
	}
	f("all", lists+"}", true, nil, nil, "[7 8] [1 2 3 4] false 0 0")
	f("flagged", lists+"}", true, finding, nil, "[7 8] [1 2 3 4] false 3 3")
	f("flagged earlier", lists+"}", true, finding, signal, "[7 8] [1 2 3 4] false 2 2")
	f("not wanted", lists+"}", false, nil, nil, "none")
	f("cut", lists+`,"input_ids_of":9}`, true, nil, nil, "[7 8] [1 2 3 4] true 0 0")
	f("fewer than counted", `{"rid":"r1","prompt_tokens":2,"completion_tokens":5,"input_ids":[7,8],"output_ids":[1,2]}`, true, nil, nil, "[7 8] [1 2] true 0 0")
	f("none", anyFacts, true, nil, nil, "none")
	f("negative", `{"rid":"r1","input_ids":[7,-8],"output_ids":[1]}`, true, nil, nil, "none")
	f("no numbers", `{"rid":"r1","input_ids":["a"],"output_ids":[1]}`, true, nil, nil, "none")
	f("huge", `{"rid":"r1","input_ids":[99999999999],"output_ids":[1]}`, true, nil, nil, "none")
}

func TestLoadIsAskedFor(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		bubble(t, Config{NoPoll: true}, server{"/v1/loads": always(body)}, func(t *testing.T, g *Tagger) {
			running, waiting, err := g.AskLoad(t.Context())
			if got := fmt.Sprint(running, waiting, err == nil); got != want {
				t.Errorf("%s: got %s, want %s", body, got, want)
			}
		})
	}
	f(`{"loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1},{"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":0}]}`, "5 1 true")
	f(`{"loads":[]}`, "0 0 false")
}
