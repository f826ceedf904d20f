package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Record is what one measurement showed.
type Record struct {
	Scenario, Target string
	Round            int
	Time             time.Time
	Seen             Seen
	CPU, User        float64 // seconds of the proxy within the measurement; without one, of the server
	RSSBefore        int64   // of the proxy before any load
	RSS              int64   // … at the end
	Threads          int
	Descriptors      int
	Foreign          float64 // share of the machine that neither proxy nor turnbench took
	Fault            string  `json:",omitempty"` // why nothing was measured
}

// Cost is the proxy's time for an event, or an answer, in microseconds.
func (r *Record) Cost(perAnswer bool) float64 {
	n := r.Seen.Events
	if perAnswer {
		n = r.Seen.Answers
	}
	return r.CPU / float64(max(n, 1)) * 1e6
}

// Session measures targets interleaved: each round takes every scenario, and in
// it every target, in an order of its own.
type Session struct {
	Targets   []Target
	Scenarios []Scenario
	Rounds    int
	Seed      uint64
	Serve     []string // command that calls [Inherited]
	Env       []string // of that command
	Record    func(Record)
}

// Run measures until all is done or ctx ends.
func (s *Session) Run(ctx context.Context) error {
	draw := rand.New(rand.NewPCG(s.Seed, 0))
	for round := range s.Rounds {
		for _, sc := range s.Scenarios {
			for _, i := range draw.Perm(len(s.Targets)) {
				r, err := s.measure(ctx, s.Targets[i], sc)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if r.Scenario, r.Target, r.Round = sc.Name, s.Targets[i].Name, round; err != nil {
					r.Fault = err.Error()
				}
				s.Record(r)
			}
		}
	}
	return nil
}

// measure measures one target with processes that nobody used before.
func (s *Session) measure(ctx context.Context, t Target, sc Scenario) (r Record, err error) {
	r.Time = time.Now().Truncate(time.Second)
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	server, err := s.serve(ctx, dir, sc)
	if err != nil {
		return r, fmt.Errorf("start the server: %w", err)
	}
	defer server.stop()
	addr, pid := server.addr, server.cmd.Process.Pid
	if t.program != "" {
		c, err := collect(t.scraped)
		if err != nil {
			return r, err
		}
		defer c.close()
		p, err := t.start(ctx, server.addr, dir, c.env...)
		if err != nil {
			return r, err
		}
		defer p.stop()
		defer c.scrape(p.Admin)()
		addr, pid = p.Listen, p.cmd.Process.Pid
	}
	return r, r.load(sc.Load, addr, pid, server)
}

// load puts the load on and reads what the proxy used.
func (r *Record) load(l Load, addr string, pid int, server *child) error {
	idle, err := usageOfAll(pid)
	if err != nil {
		return err
	}
	r.RSSBefore = idle.RSS
	m := meter{pid: pid, others: []int{server.cmd.Process.Pid, os.Getpid()}}
	seen, err := l.run(addr, server.times, m.mark)
	if err != nil {
		return err
	}
	a, b := m.marks[0], m.marks[1]
	r.Seen, r.CPU, r.User = *seen, b.of.CPU-a.of.CPU, b.of.User-a.of.User
	r.RSS, r.Threads, r.Descriptors = b.of.RSS, b.of.Threads, b.of.Descriptors
	r.Foreign = max(0, (b.worked-a.worked-(b.ours-a.ours))/(b.had-a.had))
	if seen.Errors > 0 && seen.Events == 0 {
		return errors.New(seen.Error)
	}
	return nil
}

// meter reads what is used as a measurement begins and ends.
type meter struct {
	pid    int
	others []int // processes of turnbench
	marks  []mark
}

type mark struct {
	of                Usage
	ours, worked, had float64
}

func (m *meter) mark() error {
	of, err := usageOfAll(m.pid)
	at := mark{of: of, ours: of.CPU}
	for _, pid := range m.others {
		if u, err := usage(pid); err == nil && pid != m.pid {
			at.ours += u.CPU
		}
	}
	at.worked, at.had = busy()
	m.marks = append(m.marks, at)
	return err
}

// child is the server, in a process of its own.
type child struct {
	cmd   *exec.Cmd
	addr  string
	times Times
}

func (s *Session) serve(ctx context.Context, dir string, sc Scenario) (*child, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	sock, err := ln.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer sock.Close()
	file, err := os.Create(dir + "/times")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	times, err := mapTimes(file, sc.Clients, sc.Events+8)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.Serve[0], append(s.Serve[1:len(s.Serve):len(s.Serve)], strconv.Itoa(sc.Clients), strconv.Itoa(sc.Events+8))...)
	cmd.ExtraFiles, cmd.Stderr, cmd.Env = []*os.File{sock, file}, os.Stderr, append(append(os.Environ(), "GOGC=400"), s.Env...)
	return &child{cmd, ln.Addr().String(), times}, cmd.Start()
}

func (c *child) stop() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
	c.times.unmap()
}

// Inherited serves in the process that a Session started with args: the
// listener and the file of times are its descriptors 3 and 4.
func Inherited(args []string) error {
	if len(args) != 2 {
		return errors.New("turnbench starts this by itself")
	}
	slots, err := strconv.Atoi(args[0])
	events, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	ln, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	times, err := mapTimes(os.NewFile(4, "times"), slots, events)
	if err != nil {
		return err
	}
	return (&Server{Times: times}).Serve(ln)
}

// collector takes what turnwatch sends by OTLP, and asks for its metrics.
type collector struct {
	ln  net.Listener
	srv *http.Server
	env []string
}

// scrapeEvery is how often metrics are read.
const scrapeEvery = 5 * time.Second

// collect starts a collector, or none.
func collect(wanted bool) (*collector, error) {
	c := &collector{}
	if !wanted {
		return c, nil
	}
	var err error
	if c.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	c.srv = &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go c.srv.Serve(c.ln)
	c.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.ln.Addr().String()}
	return c, nil
}

func (c *collector) close() {
	if c.srv != nil {
		c.srv.Close()
	}
}

// scrape reads metrics until the function that it returns is called.
func (c *collector) scrape(addr string) (stop func()) {
	if c.srv == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.Tick(scrapeEvery); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				fetch(ctx, "http://"+addr+"/metrics")
			}
		}
	}()
	return func() { cancel(); <-done }
}
