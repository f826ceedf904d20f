package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// composed reads compose.yaml.
func composed(t *testing.T) *types.Project {
	t.Helper()
	path, err := filepath.Abs("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(path),
		ConfigFiles: []types.ConfigFile{{Filename: path}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compose.yaml holds to the specification; its ports are on loopback, its images
// are pinned, and the files that it mounts are there. It is read and not run.
func TestCompose(t *testing.T) {
	p := composed(t)
	for _, s := range p.Services {
		if s.Build == nil && (!strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest")) {
			t.Errorf("%s: got image %s, want a version", s.Name, s.Image)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: got port %s on %q", s.Name, port.Published, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		if !s.ReadOnly || len(s.CapDrop) == 0 {
			t.Errorf("%s: got read_only %v, cap_drop %v", s.Name, s.ReadOnly, s.CapDrop)
		}
	}
	for _, name := range []string{"sglang", "turnwatch", "otelcol", "prometheus", "alertmanager", "grafana", "jaeger"} {
		if _, err := p.GetService(name); err != nil {
			t.Error(err)
		}
	}
}
