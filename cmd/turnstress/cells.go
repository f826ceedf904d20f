package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"turnwatch/cmd/internal/stress"
	"turnwatch/proxy/journal"
	"turnwatch/proxy/turn"
)

// runner runs the cells of a matrix.
type runner struct {
	o       *matrixOptions
	m       *matrix
	notes   *notes
	journal *journal.Writer
	log     *os.File
	w       io.Writer // progress; nil shows none
}

// errOver says that -max-time is over, or that we were interrupted.
var errOver = errors.New("stopped; the same command goes on")

func (o *matrixOptions) run(ctx context.Context, m *matrix, stdout, stderr io.Writer) (code int, err error) {
	if o.maxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.maxTime)
		defer cancel()
	}
	r := &runner{o: o, m: m}
	if !o.quiet {
		r.w = stderr
	}
	if err := r.open(); err != nil {
		return exitUnable, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, n := range r.notes.left() {
		sweep(n)
	}
	if o.adaptive {
		return r.adapt(ctx, stdout)
	}
	return r.factorial(ctx, stdout)
}

func (r *runner) open() (err error) {
	if r.journal, err = journal.Open(r.o.journal, journal.Options{}); err != nil {
		return err
	}
	if r.log, err = os.OpenFile(r.o.journal+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return errors.Join(fmt.Errorf("open the log of the servers: %w", err), r.journal.Close(context.Background()))
	}
	if r.notes, err = openNotes(r.o.journal+".matrix", r.m, r.o.restart, r.journal); err != nil {
		return errors.Join(err, r.journal.Close(context.Background()), r.log.Close())
	}
	return nil
}

func (r *runner) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(r.journal.Close(ctx), r.notes.close(), r.log.Close())
}

func (r *runner) say(format string, args ...any) {
	if r.w != nil {
		fmt.Fprintf(r.w, format+"\n", args...)
	}
}

// factorial runs every cell: the first boot of all, then the second, so that what
// drifts in time falls on all alike.
func (r *runner) factorial(ctx context.Context, stdout io.Writer) (int, error) {
	cells := r.m.cells()
	var err error
	for boot := 1; boot <= r.m.Boots && err == nil; boot++ {
		for _, c := range cells {
			if err = r.cell(ctx, c, boot, r.m.Boots, nil); err != nil {
				break
			}
		}
	}
	if err != nil && err != errOver {
		return exitUnable, err
	}
	return r.report(stdout, cells, err == errOver)
}

// cell runs what is left of a cell's share for a boot: of so many boots, or of
// one that ends when enough says so. A cell that cannot be started is noted, and the
// others go on.
func (r *runner) cell(ctx context.Context, c cell, boot, boots int, enough func() bool) error {
	load, err := r.load(c)
	if err != nil {
		return err
	}
	name, total := r.m.name(c), load.Sessions*len(load.Concurrency)
	done := r.notes.has(name, len(load.Targets))
	left := 0
	for n := range total {
		if n%boots == boot-1 && !done[n] {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return errOver
	}
	load.Skip = func(n int) bool { return n%boots != boot-1 || done[n] }
	return r.boot(ctx, c, load, enough)
}

// load makes the load of a cell, less the addresses of its servers.
func (r *runner) load(c cell) (*stress.Load, error) {
	l := new(stress.Load)
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	l.Define(fs)
	if r.m.load != "" {
		s, err := stress.ReadScenario("load", []byte(fill(r.m.load, r.m.values(c))))
		if err != nil {
			return nil, fmt.Errorf("the matrix: load: %w", err)
		}
		if err := s.Apply(l, fs); err != nil {
			return nil, fmt.Errorf("the matrix: load: %w", err)
		}
	}
	l.Targets = make([]stress.Target, 1, 2)
	if r.m.TargetB != "" {
		l.Targets = l.Targets[:2]
	}
	return l, nil
}

// boot starts the servers of a cell, plays the load and stops them.
func (r *runner) boot(ctx context.Context, c cell, load *stress.Load, enough func() bool) error {
	name, values := r.m.name(c), r.m.values(c)
	b := &booted{r: r, cell: name, number: r.notes.boots(name) + 1, values: values}
	fmt.Fprintf(r.log, "\n==> %s, boot %d\n", name, b.number)
	r.say("%s: boot %d", name, b.number)
	defer b.stop()
	if err := b.start(ctx, c); err != nil {
		if ctx.Err() != nil {
			return errOver
		}
		r.say("%s: %v; what it said is in %s", name, err, r.log.Name())
		return r.notes.add(note{Cell: name, Boot: b.number, Failed: err.Error()})
	}
	if err := b.play(ctx, load, enough); err != nil {
		return err
	}
	got, _ := r.notes.played(name, 0)
	r.say("%s: %s", name, got.Line("sessions"))
	if ctx.Err() != nil {
		return errOver
	}
	return nil
}

// booted is a cell whose servers run.
type booted struct {
	r      *runner
	cell   string
	number int
	values map[string]string
	up     []*process
}

// start starts the server, and the sidecar once that is ready.
func (b *booted) start(ctx context.Context, c cell) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	b.values["port"], b.values["sidecar-port"] = ports[0], ports[1]
	b.values["url"] = "http://127.0.0.1:" + b.values["port"]
	command := slices.Clone(b.r.m.Command)
	for i, f := range b.r.m.factors {
		command = append(command, b.r.m.Args[f.name][c[i]]...)
	}
	if err := b.launch(ctx, command, b.r.m.Ready); err != nil {
		return err
	}
	if len(b.r.m.Sidecar) == 0 {
		return nil
	}
	return b.launch(ctx, b.r.m.Sidecar, "http://127.0.0.1:{sidecar-port}/v1/models")
}

func (b *booted) launch(ctx context.Context, command []string, ready string) error {
	args := make([]string, len(command))
	for i := range command {
		args[i] = fill(command[i], b.values)
	}
	env := make([]string, len(b.r.m.Env))
	for i := range env {
		env[i] = fill(b.r.m.Env[i], b.values)
	}
	p, err := launch(args, env, b.r.log)
	if err != nil {
		return err
	}
	b.up = append(b.up, p)
	if err := b.r.notes.add(note{Cell: b.cell, Boot: b.number, Group: p.group(), Since: since(p.group())}); err != nil {
		return err
	}
	return p.ready(ctx, fill(ready, b.values), b.r.m.ReadyTimeout)
}

// stop stops what was started, the last first.
func (b *booted) stop() {
	for _, p := range slices.Backward(b.up) {
		p.stop(b.r.m.StopTimeout)
		b.r.notes.add(note{Cell: b.cell, Boot: b.number, Group: p.group(), Ended: true})
	}
}

// play plays the load and notes its sessions.
func (b *booted) play(ctx context.Context, load *stress.Load, enough func() bool) error {
	r := b.r
	if err := b.aim(load); err != nil {
		return err
	}
	var failed error
	boot := fmt.Sprintf("%s-%d", short(b.cell), b.number)
	load.Session = boot + "-"
	load.Turned = func(t *stress.Turn) {
		// No label, for the configuration is the same at every boot.
		t.Tags["boot"] = turn.Tag{Value: boot, Source: "own"}
		r.notes.handed++
		r.journal.Finish(&t.Turn)
	}
	load.Played = func(s *stress.Session) string {
		if !s.Whole {
			return ""
		}
		if err := r.notes.session(note{Cell: b.cell, Boot: b.number, Target: s.Target, Session: &s.Number, Judged: s.Judged(), Corrupt: s.Corrupt(), Batch: s.Batch}); err != nil {
			failed = err
			return "the notes cannot be written"
		}
		if enough != nil && enough() {
			return "decided"
		}
		return ""
	}
	res, err := stress.Run(ctx, *load)
	if err != nil {
		return r.notes.add(note{Cell: b.cell, Boot: b.number, Failed: err.Error()})
	}
	if all := res.Of(0); all.Failure != "" {
		r.say("%s: %d turns failed, for instance %s", b.cell, all.Classes[stress.Failed], all.Failure)
	}
	return failed
}

// aim points the load at the servers. The levels are their labels.
func (b *booted) aim(load *stress.Load) error {
	own := labels{}
	for _, f := range b.r.m.factors {
		own[strings.ReplaceAll(f.name, "-", "_")] = b.values[f.name] // as headers are spelled
	}
	urls := []string{b.r.m.Target, b.r.m.TargetB}
	for i, arm := range []turn.Arm{turn.Live, turn.Candidate}[:len(load.Targets)] {
		t, err := b.r.o.target.target(fill(urls[i], b.values), arm, own)
		if err != nil {
			return err
		}
		load.Targets[i] = t
	}
	return nil
}
