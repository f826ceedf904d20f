// Command grafana makes, from the tables in this folder and the rules in
// ../prometheus/rules.yaml, everything that Grafana, the Prometheus operator and
// the Helm chart read:
//
//	go run .        # in this folder; writes the files below deploy
//
// A test fails when what is committed is not what this makes. Dashboards are of the
// first version of Grafana's schema, which the SDK calls deprecated: it is what
// every Grafana takes from a file.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

//go:generate go run .

// deploy is the folder that all paths are relative to, seen from here.
const deploy = ".."

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := generate()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(deploy, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns every file that is made, by its path below deploy.
func generate() (map[string][]byte, error) {
	rules, err := readRules()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var places panels
	for _, d := range dashboards() {
		b, err := d.json()
		if err != nil {
			return nil, fmt.Errorf("build dashboard %s: %w", d.uid, err)
		}
		files["grafana/dashboards/"+d.uid+".json"] = b
		files["helm/turnwatch/files/dashboards/"+d.uid+".json"] = b
		places.add(d)
	}
	if files["grafana/provisioning/alerting/turnwatch.yaml"], err = rules.grafana(places); err != nil {
		return nil, err
	}
	files["kubernetes/monitoring/rules/prometheusrule.yaml"] = rules.operator()
	files["helm/turnwatch/files/rules.yaml"] = rules.groups()
	return files, nil
}
