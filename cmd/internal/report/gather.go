package report

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"turnwatch/proxy/journal"
)

// gatherer reads files line by line, has the lines parsed by several at once,
// and takes the entries in the order of the lines.
type gatherer struct {
	ctx    context.Context
	d      *Data
	todo   chan *batch // lines to be parsed
	order  chan *batch // the same, in order; bounds what is under way
	parse  sync.WaitGroup
	gather sync.WaitGroup
}

// batch is a number of lines, copied, of one file.
type batch struct {
	file    file
	text    []byte
	lines   []journal.Line
	entries []entry
	done    chan struct{}
	failed  error // why the file was not read to its end
}

// The size of a batch.
const (
	batchLines = 512
	batchBytes = 512 << 10
)

func newGatherer(ctx context.Context, d *Data) *gatherer {
	n := runtime.GOMAXPROCS(0)
	g := &gatherer{ctx: ctx, d: d, todo: make(chan *batch, n), order: make(chan *batch, 2*n)}
	for range n {
		g.parse.Go(g.work)
	}
	g.gather.Go(g.collect)
	return g
}

func (g *gatherer) work() {
	p := parser{g.d.seed, &g.d.kinds}
	for b := range g.todo {
		b.entries = make([]entry, len(b.lines))
		for i, l := range b.lines {
			b.entries[i] = p.line(l)
		}
		b.text, b.lines = nil, nil
		close(b.done)
	}
}

func (g *gatherer) collect() {
	for b := range g.order {
		<-b.done
		for i := range b.entries {
			g.d.take(&b.entries[i], b.file)
		}
		g.d.Source.Lines += len(b.entries)
		if b.failed != nil {
			g.d.Source.Failed = append(g.d.Source.Failed, b.failed.Error())
		}
	}
}

// file reads one file to its end.
func (g *gatherer) file(f file, in io.Reader) {
	r, err := f.open(in)
	if err != nil {
		g.send(&batch{file: f, failed: err})
		return
	}
	defer r.Close()
	b := &batch{file: f}
	for l, err := range journal.Lines(r) {
		if err != nil {
			b.failed = fmt.Errorf("%s: %w", f.path, err)
			break
		}
		if g.ctx.Err() != nil {
			break
		}
		b.add(l)
		if b.full() {
			g.send(b)
			b = &batch{file: f}
		}
	}
	g.send(b)
}

func (g *gatherer) send(b *batch) {
	b.done = make(chan struct{})
	g.order <- b
	g.todo <- b
}

// add copies a line into the batch.
func (b *batch) add(l journal.Line) {
	if b.text == nil {
		b.text = make([]byte, 0, batchBytes+batchBytes/4)
	}
	at := len(b.text)
	b.text = append(b.text, l.Text...) // lines already added keep what they point to, should it move
	l.Text = b.text[at:len(b.text):len(b.text)]
	b.lines = append(b.lines, l)
}

func (b *batch) full() bool { return len(b.lines) >= batchLines || len(b.text) >= batchBytes }

func (g *gatherer) close() {
	close(g.todo)
	g.parse.Wait()
	close(g.order)
	g.gather.Wait()
}
