//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	root  = "../.."         // of the project
	files = ".."            // that are deployed
	await = 3 * time.Minute // within which what must come, comes, on a busy machine
	pause = time.Second / 4 // between two looks
)

// until waits for a condition, and says what was missing.
func until(t *testing.T, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(await)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(pause)
	}
}

// build builds a command of a module, and returns where it is.
func build(t *testing.T, module, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(module)+filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = module
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, msg)
	}
	return out
}

// install builds a command of a published module.
func install(t *testing.T, pkg string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "install", pkg)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v\n%s", pkg, err, msg)
	}
	path, _, _ := strings.Cut(pkg, "@")
	return filepath.Join(dir, filepath.Base(path))
}

// given are the ports that are in somebody's hands.
var given = map[int]bool{}

// port returns one that is free. It is below those that the system gives to
// connections, one of which could have it before the program that is to listen there.
func port(t *testing.T) string {
	t.Helper()
	for range 1000 {
		n := 10_000 + rand.IntN(20_000)
		ln, err := net.Listen("tcp", at(fmt.Sprint(n)))
		if err != nil {
			continue
		}
		ln.Close()
		if !given[n] {
			given[n] = true
			return fmt.Sprint(n)
		}
	}
	t.Fatal("no port is free from 10000 to 29999")
	return ""
}

// at is an address on this machine.
func at(port string) string { return "127.0.0.1:" + port }

// start runs a program until the test ends, and tells what it said if the test
// fails.
func start(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(name)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, t.TempDir()
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v; .ci/run says where it comes from", name, err)
	}
	t.Cleanup(func() {
		stop(cmd)
		log.Close()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(name), tail(log.Name()))
		}
	})
	return cmd
}

// stop ends a program as a service manager does.
func stop(cmd *exec.Cmd) {
	if cmd.ProcessState != nil {
		return
	}
	cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer kill.Stop()
	cmd.Wait()
}

// tail returns the end of a file.
func tail(name string) string {
	b, _ := os.ReadFile(name)
	return string(b[max(0, len(b)-4000):])
}

// get returns what is at a URL.
func get(url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", url, resp.Status, b)
	}
	return b, err
}

// ready waits for a URL to answer.
func ready(t *testing.T, url string) {
	t.Helper()
	until(t, url, func() error {
		_, err := get(url)
		return err
	})
}

// adapted writes a deployed file with some texts replaced, each of which must be
// there, and returns where.
func adapted(t *testing.T, name string, replace ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("%s: got no %q in it", name, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// path returns where a deployed file is.
func path(t *testing.T, name string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
