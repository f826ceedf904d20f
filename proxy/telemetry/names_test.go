package telemetry

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/otlptranslator"
)

// metricType is what the official translation calls a type.
func metricType(m Metric) otlptranslator.MetricType {
	switch m.Type {
	case Counter:
		return otlptranslator.MetricTypeMonotonicCounter
	case Histogram:
		return otlptranslator.MetricTypeHistogram
	}
	return otlptranslator.MetricTypeGauge
}

func TestNamesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	official := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	for _, m := range Metrics() {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		want, err := official.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: metricType(m)})
		if got := m.Prometheus(); err != nil || got != want {
			t.Errorf("%s for Prometheus: got %s, want %s, %v", m.Name, got, want, err)
		}
		if !strings.HasSuffix(m.Help, ".") || strings.Contains(m.Help, "\n") {
			t.Errorf("help of %s: got %q, want a sentence", m.Name, m.Help)
		}
		if len(m.Labels) != len(slices.Compact(slices.Sorted(slices.Values(m.Labels)))) {
			t.Errorf("%s has a label twice: %v", m.Name, m.Labels)
		}
		if !slices.IsSorted(m.Bounds) || len(m.Bounds) > 0 && m.Type != Histogram {
			t.Errorf("bounds of %s: got %v", m.Name, m.Bounds)
		}
	}
}

// known returns the names that Prometheus may be asked for: families with their
// suffixes, and labels.
func known() map[string]bool {
	names := map[string]bool{}
	for _, m := range Metrics() {
		names[m.Prometheus()] = true
		if m.Type == Histogram {
			for _, s := range []string{"_bucket", "_sum", "_count"} {
				names[m.Prometheus()+s] = true
			}
		}
		for _, l := range m.Labels {
			names[strings.ReplaceAll(l, ".", "_")] = true
		}
	}
	return names
}

// TestDeployNamesAreKnown reads what is deployed: rules, dashboards and runbooks that ask
// for a series which is not there stay silent.
func TestDeployNamesAreKnown(t *testing.T) {
	ours, names := regexp.MustCompile(`\bturnwatch_[a-z0-9_]+`), known()
	root := filepath.Join("..", "..", "deploy")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "sglang" {
			return fs.SkipDir
		}
		if ext := filepath.Ext(path); d.IsDir() || ext != ".json" && ext != ".yaml" && ext != ".yml" && ext != ".md" {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, name := range ours.FindAllString(string(b), -1) {
			if !names[name] {
				t.Errorf("%s asks for %s, which is no metric or label", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
