package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func read(t *testing.T) *rules {
	t.Helper()
	r, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every alert has what somebody needs who is woken by it.
func TestAlertsAreWhole(t *testing.T) {
	alerts := read(t).alerts()
	if len(alerts) < 12 {
		t.Fatalf("alerts: got %d", len(alerts))
	}
	for _, a := range alerts {
		if !regexp.MustCompile(`^Turnwatch[A-Z][A-Za-z]+$`).MatchString(a.Alert) {
			t.Errorf("%s: got a name that is not Turnwatch and CamelCase", a.Alert)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s: got severity %q", a.Alert, a.Labels["severity"])
		}
		if a.Annotations["summary"] == "" || !strings.HasSuffix(strings.TrimSpace(a.Annotations["description"]), ".") {
			t.Errorf("%s: got annotations %v", a.Alert, a.Annotations)
		}
		runbook := "deploy/runbooks/" + a.Alert + ".md"
		text, err := os.ReadFile(filepath.Join(deploy, "..", runbook))
		if a.Annotations["runbook_url"] != runbook || err != nil {
			t.Errorf("%s: got runbook_url %q, want %s, %v", a.Alert, a.Annotations["runbook_url"], runbook, err)
		}
		for _, part := range []string{"# " + a.Alert, "## What it means", "## What to look at", "## What to do", "## How sure it is"} {
			if !bytes.Contains(text, []byte(part+"\n")) {
				t.Errorf("%s: got a runbook without %q", a.Alert, part)
			}
		}
	}
}

// No runbook is left of an alert that is gone.
func TestRunbooksHaveAlerts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(deploy, "runbooks", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(read(t).alerts()) {
		t.Errorf("runbooks: got %d, want %d", len(files), len(read(t).alerts()))
	}
}

// Every alert has a test in which it fires and one in which it does not, at
// little traffic too.
func TestAlertsAreTestedBothWays(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(deploy, "prometheus", "rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Checks []struct {
				Alert string `yaml:"alertname"`
				Want  []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]int{}, map[string]int{}
	for _, test := range file.Tests {
		for _, c := range test.Checks {
			if len(c.Want) > 0 {
				fires[c.Alert]++
			} else {
				silent[c.Alert]++
			}
		}
	}
	for _, a := range read(t).alerts() {
		if fires[a.Alert] == 0 || silent[a.Alert] == 0 {
			t.Errorf("%s: got %d tests in which it fires and %d in which it does not", a.Alert, fires[a.Alert], silent[a.Alert])
		}
	}
}

// Grafana's own alerts are whole, name panels that exist and record nothing.
func TestManagedAlerts(t *testing.T) {
	r := read(t)
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	var file alertFile
	dec := yaml.NewDecoder(bytes.NewReader(files["grafana/provisioning/alerting/turnwatch.yaml"]))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range file.Groups {
		for _, a := range g.Rules {
			names = append(names, a.Title)
			expr, _ := a.Data[0].Model["expr"].(string)
			if _, err := parse(expr); err != nil || strings.Contains(expr, ":corrupted_turns:") {
				t.Errorf("%s: got %q, %v", a.Title, expr, err)
			}
			if a.Condition != "B" || a.Data[1].RefID != "B" || len(a.UID) > 40 || a.NoDataState != "OK" || a.DashboardUID == "" || a.PanelID == 0 {
				t.Errorf("%s: got %+v", a.Title, a)
			}
			if strings.Contains(a.Annotations["description"], "{{ $value ") {
				t.Errorf("%s: got %q", a.Title, a.Annotations["description"])
			}
		}
	}
	var want []string
	for _, a := range r.alerts() {
		want = append(want, a.Alert)
	}
	if !slices.Equal(names, want) {
		t.Errorf("alerts: got %v, want %v", names, want)
	}
}

func TestRecordedSeriesAreSpelledOut(t *testing.T) {
	r := &rules{}
	if err := yaml.Unmarshal([]byte(`groups: [{name: a, rules: [{record: "m:x:rate5m", expr: "sum(rate(x[5m]))"}]}]`), r); err != nil {
		t.Fatal(err)
	}
	f := func(expr, want string) {
		t.Helper()
		if got, err := r.spelled(expr); got != want || (want == "") != (err != nil) {
			t.Errorf("%s: got %q, %v, want %q", expr, got, err, want)
		}
	}
	f("m:x:rate5m > 1", "(sum(rate(x[5m]))) > 1")
	f("y > 1", "y > 1")
	f(`m:x:rate5m{a="b"} > 1`, "")
	f("sum(", "")
}
