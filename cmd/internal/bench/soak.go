package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Soak puts mixed traffic on turnwatch with everything on, for as long as is
// asked for: all dialects, streams and whole answers, clients that stall, that
// leave and return, that send requests ahead, servers that cut answers.
type Soak struct {
	Program string        // turnwatch
	For     time.Duration // how long
	Clients int
	Seed    uint64
	Every   time.Duration // between samples
	Sampled func(Sample)  // is told each
}

// Sample is what turnwatch held at a moment, its garbage collected.
type Sample struct {
	After                            time.Duration
	Goroutines, Descriptors, Threads int
	Heap, RSS                        int64 // bytes
	Events                           int64 // compared so far
}

// Endured is what a Soak showed.
type Endured struct {
	Took     time.Duration
	Did      map[Manner]int64 // exchanges, by what became of them
	Events   int64            // compared, byte for byte
	Bytes    int64
	Errors   int64
	Told     []string // some of them, in words
	Log      string   // the end of turnwatch's, where there were errors
	Before   Sample   // before the first client
	Samples  []Sample
	After    Sample             // when all had left
	Verdicts map[string]float64 // turns, as turnwatch counted them
	Drops    map[string]float64 // what it gave up
	Proofs   map[string]float64 // its own comparisons of bytes
}

// Run soaks. The error says why it could not.
func (s Soak) Run(ctx context.Context) (*Endured, error) {
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &Server{}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	defer func() { ln.Close(); <-served }()
	target := Target{Name: "turnwatch", program: s.Program, args: func(p place) []string {
		return []string{"-listen", p.Listen, "-upstream", "http://" + p.Server, "-admin", p.Admin, "-pprof", "-byte-check", "1", "-log-rate", "1",
			"-journal", filepath.Join(p.Dir, "turns.jsonl"), "-journal-max-size", "16MiB", "-journal-max-total", "64MiB",
			"-evidence", filepath.Join(p.Dir, "evidence"), "-evidence-bodies", "-evidence-max-total", "64MiB",
			"-session-turns", "2048", "-session-idle", "30s"} // what is remembered is full soon
	}}
	p, err := target.start(ctx, ln.Addr().String(), dir)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	return s.endure(ctx, p, server)
}

// endure keeps the clients busy, takes samples, and waits until all is quiet.
func (s Soak) endure(ctx context.Context, p *process, server *Server) (*Endured, error) {
	e := &Endured{Did: map[Manner]int64{}}
	var err error
	if e.Before, err = p.sample(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	end, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	crowd := s.gather(p.Listen, &server.scripts)
	var all sync.WaitGroup
	for _, c := range crowd {
		all.Go(func() { c.run(end) })
	}
	for tick := time.Tick(s.Every); end.Err() == nil; {
		select {
		case <-end.Done():
		case <-tick:
			err = errors.Join(err, s.take(ctx, e, p, begin, crowd))
		}
	}
	all.Wait()
	e.Took = time.Since(begin)
	for _, c := range crowd {
		c.tell(e)
	}
	if err != nil || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	if e.After, err = p.quiet(ctx, e.Before); err != nil {
		return nil, err
	}
	return e, e.count(ctx, p)
}

func (s Soak) take(ctx context.Context, e *Endured, p *process, begin time.Time, crowd []*guest) error {
	at, err := p.sample(ctx)
	if err != nil {
		return err
	}
	at.After = time.Since(begin).Truncate(time.Second)
	for _, c := range crowd {
		at.Events += c.events.Load()
	}
	e.Samples = append(e.Samples, at)
	if s.Sampled != nil {
		s.Sampled(at)
	}
	return nil
}

// sample has turnwatch collect its garbage and reads what it holds.
func (p *process) sample(ctx context.Context) (s Sample, err error) {
	heap, err := fetch(ctx, "http://"+p.Admin+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return s, err
	}
	all, err := fetch(ctx, "http://"+p.Admin+"/metrics")
	if err != nil {
		return s, err
	}
	u, err := usage(p.cmd.Process.Pid)
	s.Goroutines, s.Descriptors, s.Threads, s.RSS = int(total(all, "go_goroutines", "")[""]), u.Descriptors, u.Threads, u.RSS
	_, rest, _ := strings.Cut(string(heap), "\n# HeapAlloc = ")
	fmt.Sscan(rest, &s.Heap)
	return s, err
}

// quietTime is how long turnwatch may take to let go of what clients left.
const quietTime = 30 * time.Second

// quiet waits until turnwatch holds no more goroutines and descriptors than
// before, or the time for it is over.
func (p *process) quiet(ctx context.Context, before Sample) (s Sample, err error) {
	for end := time.Now().Add(quietTime); ; {
		if s, err = p.sample(ctx); err != nil || !s.more(before) || time.Now().After(end) {
			return s, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// more reports whether s holds what before did not, but for what comes with the
// first of something: a worker, a file, the connection of a scrape.
func (s Sample) more(before Sample) bool {
	const few = 8
	return s.Goroutines > before.Goroutines+few || s.Descriptors > before.Descriptors+few
}

// count reads what turnwatch counted.
func (e *Endured) count(ctx context.Context, p *process) error {
	all, err := fetch(ctx, "http://"+p.Admin+"/metrics")
	e.Verdicts = total(all, "turnwatch_turns_total", "turnwatch_verdict")
	if e.Errors > 0 {
		e.Log = p.said()
	}
	e.Drops = total(all, "turnwatch_dropped_total", "reason")
	e.Proofs = total(all, "turnwatch_identity_checks_total", "result")
	return err
}

// total adds up the series of a metric by the values of one of its labels.
func total(text []byte, name, label string) map[string]float64 {
	sums := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || !strings.ContainsRune("{ ", rune(rest[0])) {
			continue
		}
		_, value, _ := strings.Cut(rest, label+`="`)
		value, _, _ = strings.Cut(value, `"`)
		if label == "" {
			value = ""
		}
		var v float64
		fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &v)
		sums[value] += v
	}
	return sums
}

// Faults lists what must not be: bytes that differ, turns called corrupted, what
// leaks, and memory that grows.
func (e *Endured) Faults() (all []string) {
	if e.Errors > 0 {
		all = append(all, fmt.Sprintf("%d exchanges differ or failed, of which:\n  %s\nturnwatch's log ends with\n%s", e.Errors, strings.Join(e.Told, "\n  "), e.Log))
	}
	if n := e.Proofs["different"]; n > 0 {
		all = append(all, fmt.Sprintf("turnwatch saw %v answers differ between its sockets", n))
	}
	if n := e.Verdicts["corrupted"]; n > 0 {
		all = append(all, fmt.Sprintf("%v turns are called corrupted, and none was", n))
	}
	if e.After.more(e.Before) {
		all = append(all, fmt.Sprintf("what is held when all have left: %v, before the first came: %v", e.After, e.Before))
	}
	return append(all, e.grown()...)
}

// growth is by how much the last two quarters of a soak may differ. What is remembered of
// requests, within bounds, takes minutes to be all there: a soak of fewer samples
// says nothing of memory.
const (
	growth  = 1.25
	settled = 60
)

// grown compares the last quarter of the samples with the one before.
func (e *Endured) grown() (all []string) {
	if len(e.Samples) < settled {
		return nil
	}
	rest := e.Samples[len(e.Samples)/2:]
	mid := func(of []Sample, f func(Sample) int64) float64 {
		var v []float64
		for _, s := range of {
			v = append(v, float64(f(s)))
		}
		return Median(v)
	}
	for name, f := range map[string]func(Sample) int64{
		"the heap":         func(s Sample) int64 { return s.Heap },
		"resident memory":  func(s Sample) int64 { return s.RSS },
		"goroutines":       func(s Sample) int64 { return int64(s.Goroutines) },
		"open descriptors": func(s Sample) int64 { return int64(s.Descriptors) },
	} {
		a, b := mid(rest[:len(rest)/2], f), mid(rest[len(rest)/2:], f)
		if b > growth*a {
			all = append(all, fmt.Sprintf("%s grew from %.0f to %.0f in the last quarter", name, a, b))
		}
	}
	return all
}

// String tells it in a few lines.
func (e *Endured) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events, %.0f MB compared byte for byte in %v, %d errors\n", e.Events, float64(e.Bytes)/1e6, e.Took.Truncate(time.Second), e.Errors)
	for _, m := range slices.Sorted(maps.Keys(e.Did)) {
		fmt.Fprintf(&b, "  %9d  %s\n", e.Did[m], m)
	}
	fmt.Fprintf(&b, "verdicts: %v\ngiven up: %v\nbytes compared by turnwatch: %v\nbefore: %v\n", nonzero(e.Verdicts), nonzero(e.Drops), nonzero(e.Proofs), e.Before)
	for _, s := range thin(e.Samples, 10) {
		fmt.Fprintln(&b, "       ", s)
	}
	fmt.Fprintf(&b, "after:  %v\n", e.After)
	return b.String()
}

// thin takes about n, evenly.
func thin(all []Sample, n int) (some []Sample) {
	for i := range min(n, len(all)) {
		some = append(some, all[(i+1)*len(all)/min(n, len(all))-1])
	}
	return some
}

func nonzero(m map[string]float64) map[string]float64 {
	maps.DeleteFunc(m, func(_ string, v float64) bool { return v == 0 })
	return m
}

// String tells it in a line.
func (s Sample) String() string {
	return fmt.Sprintf("%6v  %4d goroutines  %4d descriptors  %3d threads  %5.1f MB heap  %5.1f MB resident  %9d events",
		s.After, s.Goroutines, s.Descriptors, s.Threads, float64(s.Heap)/1e6, float64(s.RSS)/1e6, s.Events)
}
