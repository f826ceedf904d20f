package report

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/telemetry"
)

func TestNamesAreTelemetrys(t *testing.T) {
	families := map[string][]string{}
	for _, m := range telemetry.Metrics() {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, strings.NewReplacer(".", "_").Replace(l))
		}
		families[m.Prometheus()] = labels
	}
	f := func(family string, labels ...string) {
		t.Helper()
		has, ok := families[family]
		if !ok {
			t.Errorf("telemetry has no family %s", family)
		}
		for _, l := range labels {
			if !slices.Contains(has, l) {
				t.Errorf("%s has no label %s: %v", family, l, has)
			}
		}
	}
	f(familyTurns, labelModel, labelArm, labelVerdict, labelCause, labelSuspect, labelBatch, labelFingerprint)
	f(familySessions, labelModel, labelArm, labelVerdict, labelCause, labelSuspect, labelBatch, labelFingerprint)
	f(familyFindings, labelKind, labelCause)
	f(familySkipped, labelReason)
	f(familyCalls, labelResult)
	f(familyFinish, labelFinish)
	f(familyConfig, labelFingerprint, configPrefix+"index_dtype")
	f(familyStart)
}

func TestRises(t *testing.T) {
	f := func(what string, want float64, began, seen int64, values ...float64) {
		t.Helper()
		h := &history{labels: map[string]string{"instance": "a"}}
		for i, v := range values {
			h.values = append(h.values, sample{at: int64(100 + 10*i), v: v})
		}
		s := &starts{began: map[string][]int64{"instance=a": {began}}, seen: map[string]int64{"instance=a": seen}}
		got := 0.0
		for _, a := range s.rises(map[string]*history{"x": h}, 50)[0].added {
			got += a.n
		}
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	f("a counter that stood somewhere", 5, 10, 100, 100, 103, 103, 105)
	f("a reset", 12, 10, 100, 100, 105, 3, 7)
	f("two resets", 5+2+1, 10, 100, 100, 105, 2, 1)
	f("a process that began in the time", 7, 60, 100, 4, 7)
	f("a series that appears later than its target", 7, 10, 60, 4, 7)
	f("one sample", 0, 10, 100, 9)
	f("none", 0, 10, 100)
}

// fakeProm answers as Prometheus does, from series in its text format at
// moments, and refuses what is too much at once.
type fakeProm struct {
	series map[string]map[int64]string // by name with labels: values at seconds
	limit  int
	token  string
	asked  int
}

func (p *fakeProm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked++
	if p.token != "" && r.Header.Get("Authorization") != "Bearer "+p.token {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	m := regexp.MustCompile(`^(\w+)\{(.*)\}\[(\d+)ms\]$`).FindStringSubmatch(r.PostFormValue("query"))
	at, err := strconv.ParseFloat(r.PostFormValue("time"), 64)
	if m == nil || err != nil || r.URL.Path != "/api/v1/query" {
		http.Error(w, `{"status":"error","error":"bad query"}`, http.StatusBadRequest)
		return
	}
	span, _ := strconv.ParseInt(m[3], 10, 64)
	out, n := []map[string]any{}, 0
	for id, values := range p.series {
		name, labels, _ := strings.Cut(id, "{")
		if name != m[1] {
			continue
		}
		metric := map[string]string{"__name__": name}
		for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(labels, -1) {
			metric[l[1]] = l[2]
		}
		list := [][2]any{}
		for _, s := range slices.Sorted(func(yield func(int64) bool) {
			for s := range values {
				if !yield(s) {
					return
				}
			}
		}) {
			if float64(s) >= at-float64(span)/1000 && float64(s) <= at {
				list = append(list, [2]any{float64(s), values[s]})
				n++
			}
		}
		if len(list) > 0 {
			out = append(out, map[string]any{"metric": metric, "values": list})
		}
	}
	if p.limit > 0 && n > p.limit {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": out}})
}

// counterLine spells a series of turns or sessions.
func counterLine(family, instance, verdict, batch, print string) string {
	return fmt.Sprintf(`%s{job="turnwatch",instance="%s",gen_ai_request_model="m",turnwatch_arm="live",turnwatch_verdict="%s",turnwatch_cause="%s",turnwatch_suspect="false",turnwatch_batch_range="%s",sglang_config_fingerprint="%s"}`,
		family, instance, verdict, map[string]string{"corrupted": "unknown"}[verdict], batch, print)
}

// promWorld is two sidecars for three hours, of which the second restarts.
func promWorld() *fakeProm {
	base := began.Unix()
	p := &fakeProm{series: map[string]map[int64]string{}}
	put := func(id string, values ...float64) {
		m := map[int64]string{}
		for i, v := range values {
			m[base+int64(600*i)] = strconv.FormatFloat(v, 'f', -1, 64)
		}
		p.series[id] = m
	}
	ramp := func(from, step float64, n int) (all []float64) {
		for i := range n {
			all = append(all, from+step*float64(i))
		}
		return all
	}
	for _, in := range []string{"a:9464", "b:9464"} {
		put(fmt.Sprintf(`process_start_time_seconds{job="turnwatch",instance="%s"}`, in), slices.Repeat([]float64{float64(base - 9000)}, 19)...)
		put(fmt.Sprintf(`turnwatch_config_info{job="turnwatch",instance="%s",sglang_config_fingerprint="f1",sglang_config_index_dtype="bf16"}`, in), 1)
		put(fmt.Sprintf(`turnwatch_config_info{job="turnwatch",instance="%s",sglang_config_fingerprint="f2",sglang_config_index_dtype="fp8"}`, in), 1)
	}
	for _, family := range []string{familySessions, familyTurns} {
		put(counterLine(family, "a:9464", "clean", "5-8", "f1"), ramp(1000, 10, 19)...)
		put(counterLine(family, "a:9464", "corrupted", "5-8", "f1"), ramp(7, 1, 19)...)
		put(counterLine(family, "a:9464", "clean", "1", "f2"), ramp(50, 10, 19)...)
		put(counterLine(family, "b:9464", "clean", "5-8", "f1"), slices.Concat(ramp(500, 10, 9), ramp(5, 10, 10))...) // a reset
		put(counterLine(family, "b:9464", "unverified", "unknown", "none"), ramp(0, 3, 19)...)
	}
	return p
}

func readProm(t *testing.T, p *fakeProm, token string) (*Series, error) {
	t.Helper()
	s := httptest.NewServer(p)
	defer s.Close()
	return ReadPrometheus(context.Background(), Prometheus{URL: s.URL, Token: token}, began, began.Add(3*time.Hour))
}

func TestCountersAreAddedOverReplicasAndResets(t *testing.T) {
	for _, limit := range []int{0, 30} {
		p := promWorld()
		p.limit = limit
		s, err := readProm(t, p, "")
		if err != nil {
			t.Fatal(err)
		}
		r := s.Make(Options{})
		// a: 180 clean and 18 corrupted under f1, 180 clean under f2; b: 80, then 5 after the reset, then 90.
		if got, want := r.Sessions.Arm(), (Rate{Corrupted: 18, All: 18 + 180 + 180 + 175}).Arm(); got != want {
			t.Errorf("limit %d, %d requests: got %v, want %v", limit, p.asked, got, want)
		}
		if r.Source.Replicas != 2 || r.Verdicts[3].Turns != 54 || r.Exit() != ExitCorrupted {
			t.Errorf("got %d sidecars, verdicts %v, exit %d", r.Source.Replicas, r.Verdicts, r.Exit())
		}
		if i := slices.IndexFunc(r.Tags, func(t Tag) bool { return t.Name == "index_dtype" }); i < 0 || r.Tags[i].Levels[0].Value != "bf16" || r.Tags[i].Levels[0].Sessions.All != 373 {
			t.Errorf("got %+v, want bf16 with 373 sessions", r.Tags)
		}
		if len(r.Batch) != 2 || r.Batch[1].Value != "5-8" || r.Batch[1].Sessions.Corrupted != 18 {
			t.Errorf("got %+v", r.Batch)
		}
		r.Kinds = []Kind{{Kind: "schema_value", Turns: 3, Share: 0.75}}
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"No cause from here", "clean ones of the last minutes are missing", "kind findings of findings meaning schema_value 3 75.0%"} {
			if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}

func TestCountersAreCompared(t *testing.T) {
	s, err := readProm(t, promWorld(), "")
	if err != nil {
		t.Fatal(err)
	}
	f := func(a, b, want string) {
		t.Helper()
		o := Options{Margin: 0.1}
		o.A, _ = ParseSelector(a, began)
		o.B, _ = ParseSelector(b, began)
		if c := s.Make(o).Comparison; c.Word != want {
			t.Errorf("%s against %s: got %+v, want %s", a, b, c, want)
		}
	}
	f("index_dtype=fp8", "index_dtype=bf16", "worse")
	f("fingerprint=f1,replica=instance=a:9464\x00job=turnwatch", "fingerprint=f2", "better")
	f("until=2026-03-01T13:30:00Z", "since=2026-03-01T13:30:00Z", "no_difference")
	f("arm=live", "arm=candidate", "undecided")
}

func TestPrometheusThatRefuses(t *testing.T) {
	p := promWorld()
	p.token = "secret"
	if _, err := readProm(t, p, "wrong"); err == nil || !strings.Contains(err.Error(), "-prometheus-token-file") {
		t.Errorf("got %v, want the flag", err)
	}
	if _, err := readProm(t, p, "secret"); err != nil {
		t.Error(err)
	}
	if _, err := readProm(t, &fakeProm{}, ""); err == nil || !strings.Contains(err.Error(), "no series turnwatch_turns_total") {
		t.Errorf("got %v, want that there are no series", err)
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if _, err := ReadPrometheus(context.Background(), Prometheus{URL: s.URL}, began, began.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "does not answer as Prometheus does") {
		t.Errorf("got %v", err)
	}
}
