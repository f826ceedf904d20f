//go:build e2e

package proxy_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"

	"turnwatch/proxy"
	"turnwatch/proxy/sglangtest"
)

// TestOpenAIClientsIgnoreTheAnnotation: the official clients get the same from
// an annotated stream as from the server's own, and see the verdict in heads.
// OPENAI_PYTHON is an interpreter that has the client, OPENAI_NODE_PATH the
// folder of modules that node finds it in.
func TestOpenAIClientsIgnoreTheAnnotation(t *testing.T) {
	sim := sglangtest.NewServer(sglangtest.Config{Plugin: true})
	t.Cleanup(sim.Close)
	for name, argv := range map[string][]string{
		"Python": {cmp.Or(os.Getenv("OPENAI_PYTHON"), "python3"), "testdata/ask.py"},
		"Node":   {"node", "testdata/ask.js"},
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := askWith(t, sim.URL, argv)
			if strings.Count(want, "\n") != 4 || strings.Count(want, `"finish"`) != 4 {
				t.Fatalf("from the server itself: got %s, want four answers", want)
			}
			for _, how := range []proxy.Annotate{proxy.AnnotateOff, proxy.AnnotateComment, proxy.AnnotateTrailer} {
				cfg := noting(how)
				cfg.Upstream = sim.URL
				p := startOn(t, "tcp", cfg)
				got, verdicts := askWith(t, "http://"+p.addr, argv)
				if got != want {
					t.Errorf("%s: got %s, want %s", how, got, want)
				}
				if told := strings.Count(verdicts, "verdict: clean"); how != proxy.AnnotateOff && told != 2 || how == proxy.AnnotateOff && told != 0 {
					t.Errorf("%s: verdicts in heads: got %q", how, verdicts)
				}
				if told := noted(p, "told"); how == proxy.AnnotateComment && told != 4 {
					t.Errorf("%s: annotated: got %d answers, want 4", how, told)
				}
			}
		})
	}
}

// askWith runs a client against a server and returns what it prints.
func askWith(t *testing.T, url string, argv []string) (out, log string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], append(argv[1:], url)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+os.Getenv("OPENAI_NODE_PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return stdout.String(), stderr.String()
}
