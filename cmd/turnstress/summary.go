package main

import (
	"maps"
	"time"

	"turnwatch/cmd/internal/stress"
	"turnwatch/validate/stats"
)

// summary is what -json prints.
type summary struct {
	Sessions    int           `json:"sessions_planned"`
	Concurrency []int         `json:"concurrency"`
	Tasks       string        `json:"tasks"`
	Scenario    string        `json:"scenario,omitempty"`
	Seed        uint64        `json:"seed"`
	Began       time.Time     `json:"began"`
	Seconds     float64       `json:"seconds"`
	Requests    int64         `json:"requests"`
	Stopped     string        `json:"stopped,omitempty"`
	Arms        []armSummary  `json:"arms"`             // A, or A and B
	Stages      []armSummary  `json:"stages,omitempty"` // by concurrency, where there are several
	Compare     *compared     `json:"compare,omitempty"`
	RuledOut    *ruledOut     `json:"rule_out,omitempty"`
	Says        []string      `json:"says"`
	Client      clientSummary `json:"client"`
	Exit        int           `json:"exit"`
}

type armSummary struct {
	URL         string         `json:"url"`
	Arm         string         `json:"arm"`
	Concurrency int            `json:"concurrency,omitempty"`
	Sessions    rateSummary    `json:"sessions"`
	Turns       rateSummary    `json:"turns"`
	Classes     map[string]int `json:"classes"`
	Kinds       map[string]int `json:"kinds"`
	Suspect     int            `json:"suspect"`
	Parser      int            `json:"parser"`
	Unjudged    int            `json:"sessions_unjudged"`
	Cut         int            `json:"sessions_cut"`
	Batch       batchSummary   `json:"batch"`
	FirstByteMS quantiles      `json:"first_byte_ms"`
	EventMS     quantiles      `json:"event_ms"` // means of turns
	Failure     string         `json:"failure,omitempty"`
	Mistake     string         `json:"mistake,omitempty"`
}

type rateSummary struct {
	Corrupted int        `json:"corrupted"`
	All       int        `json:"all"`
	Rate      float64    `json:"rate"`
	Wilson95  [2]float64 `json:"wilson95"`
}

type batchSummary struct {
	Largest  int            `json:"largest"` // 0: nobody told
	Mean     float64        `json:"mean"`
	Together float64        `json:"together"`
	Sources  map[string]int `json:"sources"`
}

type quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

func quantilesOf(t *stress.Times) quantiles { return quantiles{t.At(0.5), t.At(0.95), t.At(0.99)} }

type compared struct {
	Word       stats.Word `json:"word"`
	Pairs      int        `json:"pairs"`
	P          float64    `json:"p_anytime"`
	Difference [2]float64 `json:"difference95_anytime"`
	More       int        `json:"pairs_wanted"` // in all; 0: too many to say
	Same       int        `json:"turns_same"`   // to the letter
	Other      int        `json:"turns_other"`
}

type ruledOut struct {
	Share  float64 `json:"share"`
	Fixed  bool    `json:"fixed"`
	Looked bool    `json:"peek_safe"`
}

type clientSummary struct {
	CPU      float64 `json:"cpu_seconds"`
	Events   int64   `json:"events"`
	PerEvent float64 `json:"cpu_us_per_event"`
	LateMS   float64 `json:"late_ms"`
	Short    bool    `json:"short_of_cpu"`
}

func (v *verdict) summary() summary {
	l, res := &v.o.load, v.result
	s := summary{Sessions: l.Sessions, Concurrency: l.Concurrency, Tasks: l.Tasks.Name, Scenario: v.o.scenario, Seed: l.Seed,
		Began: res.Began, Seconds: res.Ended.Sub(res.Began).Seconds(), Requests: res.Requests, Stopped: res.Stopped, Exit: v.code()}
	for i := range l.Targets {
		all := res.Of(i)
		s.Arms = append(s.Arms, armOf(&all))
	}
	if len(l.Concurrency) > 1 {
		for _, a := range res.Arms {
			s.Stages = append(s.Stages, armOf(a))
		}
	}
	v.conclude(&s)
	m := res.Client
	s.Client = clientSummary{m.CPU.Seconds(), m.Events, float64(m.PerEvent()) / 1e3, float64(m.Late) / 1e6, m.Short()}
	return s
}

func (v *verdict) conclude(s *summary) {
	margin := float64(v.o.margin)
	if v.two() {
		lo, hi := v.compare.Difference()
		a, _ := v.compare.Arms()
		s.Compare = &compared{v.compare.Word(margin), a.N, v.compare.P(), [2]float64{lo, hi}, v.compare.More(), v.result.Same, v.result.Other}
		s.Says = v.compare.Says(margin)
		return
	}
	all := v.result.Of(0)
	s.Says = all.Sessions.Says()
	if v.o.baseline.All > 0 {
		s.Says = append(s.Says, all.Sessions.Against(stress.Rate(v.o.baseline))...)
	}
	if v.o.ruleOut > 0 {
		s.RuledOut = &ruledOut{float64(v.o.ruleOut), v.fixed(), v.ruledOut()}
	}
}

func armOf(a *stress.Arm) armSummary {
	s := armSummary{URL: a.URL, Arm: [...]string{"A", "B"}[a.Target], Concurrency: a.Concurrency, Sessions: rateOf(a.Sessions), Turns: rateOf(a.Turns),
		Classes: map[string]int{}, Kinds: map[string]int{}, Suspect: a.Suspect, Parser: a.Parser, Unjudged: a.Unjudged, Cut: a.Cut,
		Failure: a.Failure, Mistake: a.Mistake}
	for class, n := range a.Classes {
		s.Classes[stress.Class(class).String()] = n
	}
	for k, n := range a.Kinds {
		s.Kinds[string(k)] = n
	}
	s.Batch.Largest, s.Batch.Together = a.Largest()
	s.Batch.Mean, s.FirstByteMS, s.EventMS = a.Mean(), quantilesOf(&a.First), quantilesOf(&a.Each)
	s.Batch.Sources = maps.Clone(a.Sources)
	return s
}

func rateOf(r stress.Rate) rateSummary {
	lo, hi := stats.Wilson(r.Corrupted, r.All)
	return rateSummary{r.Corrupted, r.All, stats.Arm{K: r.Corrupted, N: r.All}.Rate(), [2]float64{lo, hi}}
}
