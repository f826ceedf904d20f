package bench

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server plays scripts to whoever asks.
type Server struct {
	Times Times // where it tells when it sent what

	scripts scripts
	sent    atomic.Int64 // events
	conns   sync.WaitGroup
	mu      sync.Mutex
	open    map[net.Conn]bool
}

// Serve answers what comes over ln until that is closed, and ends what is in
// progress then.
func (s *Server) Serve(ln net.Listener) error {
	defer s.conns.Wait()
	defer s.cut()
	for {
		c, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		s.track(c, true)
		s.conns.Go(func() {
			defer s.track(c, false)
			s.serve(c)
		})
	}
}

func (s *Server) track(c net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[net.Conn]bool{}
	}
	if s.open[c] = open; !open {
		delete(s.open, c)
		c.Close()
	}
}

func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Close()
	}
}

// serve answers the requests of one connection.
func (s *Server) serve(c net.Conn) {
	r := bufio.NewReaderSize(c, 4<<10)
	var text []byte
	for {
		m, err := readMessage(r)
		if err != nil {
			return
		}
		text = text[:0]
		if m.chunked || m.length > 0 {
			err = m.body(r, func(b []byte) error {
				text = append(text, b[:min(len(b), maxText-len(text))]...)
				return nil
			})
		}
		if err != nil || s.answer(c, m, text) != nil || m.close {
			return
		}
	}
}

// maxText is how much of a request is looked at for its Params.
const maxText = 64 << 10

func (s *Server) answer(c net.Conn, m message, text []byte) error {
	p, err := parse(text)
	if err != nil {
		return facts(c, m.start)
	}
	script, err := s.scripts.of(p)
	if err != nil {
		return err
	}
	return s.play(c, script, p)
}

// facts answers what SGLang's router asks a server before it sends requests.
func facts(c net.Conn, start string) error {
	body := `{"status":"ok","object":"list","data":[{"id":"` + model + `","object":"model"}],"model_path":"` + model + `","served_model_name":"` + model + `","is_generation":true}`
	if !strings.HasPrefix(start, "GET ") {
		body = `{"object":"error","message":"turnbench knows its own requests alone","code":400}`
	}
	_, err := c.Write(object(body).Wire)
	return err
}

var errCut = errors.New("the server cuts the answer")

// play writes a script at its pace.
func (s *Server) play(c net.Conn, script *Script, p Params) error {
	begin, from := time.Now(), 0
	events := len(script.Ends)
	for i, to := range script.Writes {
		if i > 0 && p.Rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(i-1) / p.Rate * float64(time.Second)))))
		}
		if p.Cut > 0 && to >= p.Cut {
			c.Write(script.Wire[from:min(to, p.Cut)])
			return errCut
		}
		if n := i - (len(script.Writes) - events - p.ends()); n >= 0 && n < events {
			s.Times.set(p.Slot, n, time.Now())
			s.sent.Add(1)
		}
		if _, err := c.Write(script.Wire[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// ends is how many writes follow the last event.
func (p Params) ends() int {
	if p.Stream && dialects[p.Dialect].end != "" {
		return 1
	}
	return 0
}
