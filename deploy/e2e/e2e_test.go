//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The rules hold to Prometheus' own checks and to their tests.
func TestRules(t *testing.T) {
	for _, args := range [][]string{
		{"check", "rules", path(t, "prometheus/rules.yaml")},
		{"test", "rules", path(t, "prometheus/rules_test.yaml")},
		{"check", "config", path(t, "prometheus/prometheus.yaml")},
	} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if out, err := exec.Command("amtool", "check-config", path(t, "alertmanager/alertmanager.yaml")).CombinedOutput(); err != nil {
		t.Errorf("amtool: %v\n%s", err, out)
	}
}

// TestWholePicture runs sessions and looks at everything that tells of them.
func TestWholePicture(t *testing.T) {
	s := open(t)
	// One at a time first: series must be there before they count.
	s.play(t, 3, 1, 900)
	until(t, "Prometheus knows of no turn", func() error {
		_, err := s.store.sum(`turnwatch_turns_total{turnwatch_verdict="corrupted"}`)
		return err
	})
	s.play(t, 60, 20, 1)
	turns := s.settled(t)

	t.Run("every turn is counted", func(t *testing.T) { s.counted(t, turns, `{job="turnwatch"}`) })
	t.Run("every turn is counted by way of the Collector", func(t *testing.T) { s.counted(t, turns, `{job="turnwatch-pushed"}`) })
	t.Run("every corrupted turn is in the trace file", func(t *testing.T) { s.traced(t, turns) })
	t.Run("the journal is with the Collector", func(t *testing.T) { s.recorded(t, turns) })
	t.Run("pushed metrics are those that are scraped", func(t *testing.T) { s.pushedToo(t) })
	t.Run("exemplars lead to spans", func(t *testing.T) { s.exemplary(t) })
	t.Run("the page of the burn rate is delivered", func(t *testing.T) { s.paged(t, "TurnwatchCorruptionBurnsFast") })
	t.Run("the page of the alarm is delivered", func(t *testing.T) { s.paged(t, "TurnwatchAlarm") })
	t.Run("metrics are well formed", func(t *testing.T) { s.wellFormed(t) })
	t.Run("panels", func(t *testing.T) { s.panels(t) })
	t.Run("alerts", func(t *testing.T) { s.alerts(t) })
}

// counted holds the series of Prometheus that are selected against the journal.
func (s *scene) counted(t *testing.T, turns []record, selected string) {
	want := map[string]float64{}
	for _, r := range turns {
		want[r.Arm+" "+r.Verdict]++
	}
	until(t, "Prometheus and the journal differ", func() error {
		got := map[string]float64{}
		all, err := s.store.now("sum by (turnwatch_arm, turnwatch_verdict) (turnwatch_turns_total" + selected + ") > 0")
		for _, r := range all {
			got[r.Metric["turnwatch_arm"]+" "+r.Metric["turnwatch_verdict"]] = r.last()
		}
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("got %v, want %v", got, want)
		}
		return err
	})
	if want["live corrupted"] < 5 || want["live clean"] < 50 {
		t.Errorf("turns: got %v, want some of either verdict", want)
	}
	t.Logf("turns: %v", want)
}

// traced holds the Collector's file against the journal.
func (s *scene) traced(t *testing.T, turns []record) {
	var kept map[string]span
	corrupted, clean := 0, 0
	until(t, "spans are missing", func() error {
		all, err := spans(s.traces)
		if err != nil {
			return err
		}
		kept, corrupted, clean = byTurn(all), 0, 0
		for _, r := range turns {
			got, ok := kept[r.ID]
			switch {
			case r.Verdict == "corrupted" && !ok:
				return fmt.Errorf("corrupted turn %s is not in %s", r.ID, s.traces)
			case r.Verdict == "corrupted":
				corrupted++
			case r.Verdict == "clean":
				clean++
			}
			if ok && got.Attributes["turnwatch.verdict"].String != r.Verdict {
				t.Fatalf("turn %s: got verdict %q in its span, want %s", r.ID, got.Attributes["turnwatch.verdict"].String, r.Verdict)
			}
		}
		return nil
	})
	others := len(kept) - corrupted
	if others > clean/2 {
		t.Errorf("clean turns in the trace file: got %d of %d, want about one in twenty", others, clean)
	}
	t.Logf("spans: %d of %d corrupted turns, %d of %d others", corrupted, corrupted, others, clean)
}

// recorded holds the turn records that went to the Collector against the journal.
func (s *scene) recorded(t *testing.T, turns []record) {
	until(t, "turn records are missing", func() error {
		b, err := os.ReadFile(s.turns)
		if err != nil {
			return err
		}
		for _, r := range turns {
			if !strings.Contains(string(b), r.ID) {
				return fmt.Errorf("turn %s is not in %s", r.ID, s.turns)
			}
		}
		return nil
	})
}

// pushedToo compares what came by OTLP with what is scraped: the same names, with
// the same values once all has come.
func (s *scene) pushedToo(t *testing.T) {
	until(t, "the Collector shows other series", func() error {
		scraped, err := get("http://" + s.admin + "/metrics")
		if err != nil {
			return err
		}
		pushed, err := get("http://" + s.pushed + "/metrics")
		if err != nil {
			return err
		}
		for _, metric := range []string{"turnwatch_turns_total", "turnwatch_sessions_total", "turnwatch_findings_total", "turnwatch_requests_total"} {
			if got, want := total(pushed, metric), total(scraped, metric); got != want || want == 0 {
				return fmt.Errorf("%s: got %v by OTLP, %v by scrape", metric, got, want)
			}
		}
		if got, want := names(pushed), names(scraped); !slices.Equal(got, want) {
			return fmt.Errorf("families: got %v by OTLP, %v by scrape", without(got, want), without(want, got))
		}
		return nil
	})
}

// total adds up the series of a family.
func total(text []byte, metric string) (sum float64) {
	for _, m := range regexp.MustCompile(`(?m)^`+metric+`(?:\{.*?\})? ([0-9.e+]+)`).FindAllSubmatch(text, -1) {
		var v float64
		fmt.Sscan(string(m[1]), &v)
		sum += v
	}
	return sum
}

// names lists our families.
func names(text []byte) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (turnwatch_[a-z0-9_]+|gen_ai_[a-z_]+) `).FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return all
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// exemplary follows an exemplar of the counter of corrupted turns to its span.
func (s *scene) exemplary(t *testing.T) {
	until(t, "no exemplar leads to a span", func() error {
		found, err := s.store.exemplars(`turnwatch_turns_total{turnwatch_verdict="corrupted",turnwatch_arm="live"}`)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("got %d exemplars, %v", len(found), err)
		}
		all, err := spans(s.traces)
		if err != nil {
			return err
		}
		for _, e := range found {
			i := slices.IndexFunc(all, func(sp span) bool { return sp.TraceID == e.Labels["trace_id"] })
			if i < 0 {
				return fmt.Errorf("exemplar %v has no span in the trace file", e.Labels)
			}
			if err := telling(all[i]); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d exemplars, such as %s: %s", len(found), found[0].Labels["trace_id"], findings(all, found[0]))
		return nil
	})
}

// telling says what a corrupted turn's span does not tell.
func telling(s span) error {
	event := slices.ContainsFunc(s.Events, func(e struct {
		Name       string
		Attributes attributes
	}) bool {
		return e.Name == "turnwatch.finding"
	})
	for _, key := range []string{"turnwatch.verdict", "sglang.config.fingerprint", "gen_ai.request.model", "turnwatch.session.id"} {
		if s.Attributes[key].String == "" {
			return fmt.Errorf("span %s: got no %s", s.Name, key)
		}
	}
	if len(s.Attributes["turnwatch.findings"].Array.Values) == 0 || s.Attributes["sglang.batch.running"].Int == "" || !event {
		return fmt.Errorf("span %s: got findings %v, batch %q, events %v", s.Name,
			s.Attributes["turnwatch.findings"], s.Attributes["sglang.batch.running"].Int, s.Events)
	}
	return nil
}

func findings(all []span, e exemplar) string {
	for _, s := range all {
		if s.TraceID == e.Labels["trace_id"] {
			return fmt.Sprintf("%s, %v, batch %s, configuration %s", s.Name, s.Attributes["turnwatch.findings"].Array.Values,
				s.Attributes["sglang.batch.running"].Int, s.Attributes["sglang.config.fingerprint"].String)
		}
	}
	return ""
}

// paged waits for a page, and looks at the runbook that it names.
func (s *scene) paged(t *testing.T, name string) {
	var got page
	until(t, name+" was not delivered", func() (err error) {
		got, err = s.hook.delivered(name)
		return err
	})
	runbook, err := os.ReadFile(filepath.Join(root, got.Annotations["runbook_url"]))
	if err != nil || !strings.Contains(string(runbook), name) {
		t.Errorf("runbook_url %q: %v", got.Annotations["runbook_url"], err)
	}
	if got.Path != "/page" || got.Labels["severity"] != "critical" || got.Annotations["summary"] == "" {
		t.Errorf("delivered: got %+v", got)
	}
	t.Logf("%s: %s (%s)", got.Path, got.Annotations["summary"], got.Annotations["runbook_url"])
}

// wellFormed has promtool look at /metrics.
func (s *scene) wellFormed(t *testing.T) {
	text, err := get("http://" + s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(string(text))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// panels asks what every panel asks.
func (s *scene) panels(t *testing.T) {
	boards, err := filepath.Glob(filepath.Join(files, "grafana/dashboards/*.json"))
	if err != nil || len(boards) == 0 {
		t.Fatal(boards, err)
	}
	asked := 0
	for _, name := range boards {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct {
					Expr    string
					Instant bool
				}
			}
		}
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				asked++
				until(t, filepath.Base(name)+", "+p.Title, func() error { return some(s.shown(filled(q.Expr), q.Instant)) })
			}
		}
	}
	t.Logf("%d queries", asked)
}

// some is nil if an answer has series.
func some(got []series, err error) error {
	if err == nil && len(got) == 0 {
		err = errors.New("got no series")
	}
	return err
}

func (s *scene) shown(expr string, instant bool) ([]series, error) {
	if instant {
		return s.store.now(expr)
	}
	return s.store.over(expr)
}

// alerts asks what every alert looks at, and for every recorded series.
func (s *scene) alerts(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(files, "prometheus/rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			looked := []string{r.Record}
			if r.Alert != "" {
				if looked, err = observed(r.Expr); err != nil {
					t.Fatal(err)
				}
			}
			for _, expr := range looked {
				asked++
				until(t, r.Alert+r.Record+": "+expr, func() error { return some(s.store.now(expr)) })
			}
		}
	}
	t.Logf("%d expressions", asked)
}
