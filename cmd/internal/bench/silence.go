package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Silence measures what streams cost in memory that say nothing: each has had its
// first event.
type Silence struct {
	Program string // turnwatch
	Streams int
	Request int      // bytes of each request
	Args    []string // more of turnwatch's
	Profile string   // file for a profile of its heap; empty: none
}

// Held is what turnwatch held of them.
type Held struct {
	Streams       int
	Before, After int64 // resident bytes without and with the streams
	Judge         int64 // bytes that it counts against -judge-memory
	Collected     int64 // resident bytes once its garbage was collected
	Parts         map[string]int64
}

// Each is the resident bytes of a stream beyond what the judge accounts for.
func (h *Held) Each() float64 { return float64(h.After-h.Before-h.Judge) / float64(h.Streams) }

// Run opens the streams and measures.
func (s Silence) Run(ctx context.Context, session Session) (h *Held, err error) {
	dir, err := os.MkdirTemp("", "turnbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	load := Load{Params: Params{Dialect: "chat", Stream: true, Events: 8, Rate: 1e-4}, Clients: s.Streams + 1, Request: s.Request, Tools: 1}
	server, err := session.serve(ctx, dir, Scenario{Load: load})
	if err != nil {
		return nil, err
	}
	defer server.stop()
	target := Target{Name: "turnwatch", program: s.Program, args: func(p place) []string {
		return append([]string{"-listen", p.Listen, "-upstream", "http://" + p.Server, "-admin", p.Admin, "-pprof"}, s.Args...)
	}}
	p, err := target.start(ctx, server.addr, dir)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	return s.open(ctx, p, load)
}

// open opens the streams, one after the other.
func (s Silence) open(ctx context.Context, p *process, load Load) (h *Held, err error) {
	h = &Held{Streams: s.Streams}
	request, first := load.request(load.Params), make([]byte, 256)
	for i := range s.Streams + 1 { // what the first one costs, the process costs
		c, err := net.Dial("tcp", p.Listen)
		if err != nil {
			return nil, fmt.Errorf("open stream %d (ulimit -n %d): %w", i, p.Files, err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(silence))
		if _, err = c.Write(request); err == nil {
			_, err = io.ReadFull(c, first)
		}
		if err != nil {
			return nil, fmt.Errorf("open stream %d (ulimit -n %d, and turnwatch takes two descriptors a stream): %w", i, p.Files, err)
		}
		if i == 0 {
			err = h.read(p, &h.Before)
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	return h, s.measure(ctx, p, h)
}

func (h *Held) read(p *process, to *int64) error {
	u, err := usage(p.cmd.Process.Pid)
	*to = u.RSS
	return err
}

func (s Silence) measure(ctx context.Context, p *process, h *Held) error {
	if err := h.read(p, &h.After); err != nil {
		return err
	}
	all, err := fetch(ctx, "http://"+p.Admin+"/metrics")
	if err != nil {
		return err
	}
	h.Judge = int64(total(all, "turnwatch_judge_memory_bytes", "")[""])
	heap, err := fetch(ctx, "http://"+p.Admin+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return err
	}
	h.parts(string(heap))
	if err := h.read(p, &h.Collected); err != nil || s.Profile == "" {
		return err
	}
	b, err := fetch(ctx, "http://"+p.Admin+"/debug/pprof/heap")
	if err == nil {
		err = os.WriteFile(filepath.Clean(s.Profile), b, 0o644)
	}
	return err
}

// parts reads what the runtime says of its memory.
func (h *Held) parts(heap string) {
	h.Parts = map[string]int64{}
	for _, name := range []string{"HeapAlloc", "HeapInuse", "Stack", "MSpan", "GCSys", "OtherSys"} {
		_, rest, _ := strings.Cut(heap, "\n# "+name+" = ")
		var n int64
		fmt.Sscan(rest, &n)
		h.Parts[name] = n
	}
}

// String tells it.
func (h *Held) String() string {
	each := func(n int64) float64 { return float64(n) / 1024 / float64(h.Streams) }
	return fmt.Sprintf("%d silent streams: %.1f KiB each beyond what -judge-memory accounts for (%.1f KiB each); resident %.1f MB, then %.1f, %.1f when collected\n"+
		"  live heap %.1f KiB a stream, spans in use %.1f, stacks %.1f\n", h.Streams, h.Each()/1024, each(h.Judge), float64(h.Before)/1e6, float64(h.After)/1e6, float64(h.Collected)/1e6,
		each(h.Parts["HeapAlloc"]), each(h.Parts["HeapInuse"]), each(h.Parts["Stack"]))
}
