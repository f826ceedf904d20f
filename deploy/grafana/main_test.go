package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is committed is what the tables and the rules make.
func TestCommittedFilesAreMadeFromTheTables(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 8 {
		t.Errorf("files: got %d, want the dashboards twice, the alerts, and the rules twice", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(deploy, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("deploy/%s is not what `go run .` in deploy/grafana makes: %v", name, err)
		}
	}
	for _, dir := range []string{"grafana/dashboards", "helm/turnwatch/files/dashboards"} {
		entries, err := os.ReadDir(filepath.Join(deploy, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, ok := files[dir+"/"+e.Name()]; !ok {
				t.Errorf("deploy/%s/%s: got a file that nothing makes", dir, e.Name())
			}
		}
	}
}
