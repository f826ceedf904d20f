package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// visitor is a guest with its client.
type visitor struct {
	*guest
	t      *testing.T
	l      *lean
	client net.Conn
	sock   socket
}

// stays makes one whose youth never ends, unless it is to grow old.
func stays(t *testing.T, old bool) *visitor {
	t.Helper()
	nc, client := guestAt(t, "127.0.0.1:0", true)
	v := &visitor{guest: nc.(*guest), t: t, client: client}
	v.hall.mu.Lock()
	v.hall.armed = !old
	v.hall.mu.Unlock()
	v.l = newLean(v.guest, &buffers{})
	if err := v.hall.watch(v.guest, &v.sock); err != nil {
		t.Fatal(err)
	}
	return v
}

// reads reads once in another goroutine.
func (v *visitor) reads() chan string {
	got := make(chan string, 1)
	go func() {
		b := make([]byte, 100)
		n, err := v.l.Read(b)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- string(b[:n])
	}()
	return got
}

// want awaits what a read is to say.
func (v *visitor) want(got chan string, want string) {
	v.t.Helper()
	select {
	case got := <-got:
		if got != want {
			v.t.Errorf("read: got %q, want %q", got, want)
		}
	case <-time.After(30 * time.Second):
		v.t.Fatalf("read: got nothing, want %q", want)
	}
}

// until awaits a state of the guest.
func (v *visitor) until(what string, is func() bool) {
	v.t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		v.mu.Lock()
		ok := is()
		v.mu.Unlock()
		if ok {
			return
		}
		if time.Since(begin) > 30*time.Second {
			v.t.Fatalf("it is not: %s", what)
		}
	}
}

func (v *visitor) settled() bool { return v.home != nil }
func (v *visitor) waiting() bool { return v.idle }

func (v *visitor) says(s string) {
	v.t.Helper()
	if _, err := io.WriteString(v.client, s); err != nil {
		v.t.Fatal(err)
	}
}

// TestGuestOfOneAnswerNeverSettles: it is read from, written to and closed, and
// nothing remains of it.
func TestGuestOfOneAnswerNeverSettles(t *testing.T) {
	for name, early := range map[string]bool{"the request is there": true, "it comes later": false} {
		t.Run(name, func(t *testing.T) {
			v := stays(t, false)
			if early {
				v.says("request")
			}
			got := v.reads()
			if !early {
				v.until("waiting", v.waiting)
				v.says("request")
			}
			v.want(got, "request")
			if n, err := v.l.Write([]byte("answer")); n != 6 || err != nil {
				t.Errorf("write: got %d, %v", n, err)
			}
			got = v.reads()
			v.until("waiting", v.waiting)
			io.ReadFull(v.client, make([]byte, 6))
			v.client.Close()
			v.want(got, "EOF")
			v.hall.remove(&v.sock)
			if err := v.Close(); err != nil || v.settled() || v.fd >= 0 {
				t.Errorf("close: got %v, home %v, descriptor %d", err, v.home, v.fd)
			}
			if n, m := len(v.hall.socks), len(v.hall.young); n+m > 0 {
				t.Errorf("the hall remembers %d and %d", n, m)
			}
		})
	}
}

// TestGuestThatStaysSettles, and nobody sees a difference.
func TestGuestThatStaysSettles(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<19)
	for name, do := range map[string]func(v *visitor){
		"it waits for long": func(v *visitor) {
			got := v.reads()
			v.until("settled", v.settled)
			v.says("late")
			v.want(got, "late")
		},
		"it waits again": func(v *visitor) {
			for range guestWaits + 1 {
				got := v.reads()
				v.until("waiting or settled", func() bool { return v.idle || v.settled() })
				v.says("again")
				v.want(got, "again")
			}
		},
		"it waits to write": func(v *visitor) {
			read := make(chan string)
			go func() {
				v.until("settled", v.settled)
				b, _ := io.ReadAll(io.LimitReader(v.client, int64(len(big))))
				read <- string(b)
			}()
			if n, err := v.l.Write([]byte(big)); n != len(big) || err != nil || <-read != big {
				v.t.Errorf("write: got %d, %v", n, err)
			}
		},
		"it waits to write while it is read from": func(v *visitor) {
			got := v.reads()
			v.until("waiting", v.waiting)
			go v.l.Write([]byte(big))
			v.until("settled", v.settled)
			v.says("meanwhile")
			v.want(got, "meanwhile")
			io.CopyN(io.Discard, v.client, int64(len(big)))
		},
		"it is read from like any other": func(v *visitor) {
			v.says("ab")
			b := make([]byte, 1)
			if n, err := v.guest.Read(b); n != 1 || err != nil || b[0] != 'a' {
				v.t.Errorf("read: got %q, %v", b[:n], err)
			}
			v.want(v.reads(), "b")
		},
		"it is written to like any other": func(v *visitor) {
			if _, err := io.WriteString(v.guest, "x"); err != nil {
				v.t.Error(err)
			}
		},
		"writes are bounded": func(v *visitor) {
			v.SetWriteDeadline(time.Unix(1, 0))
			if _, err := v.l.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
				v.t.Errorf("write: got %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := stays(t, true)
			do(v)
			v.until("settled", v.settled)
			got := v.reads()
			v.client.(*net.TCPConn).CloseWrite()
			v.want(got, "EOF")
			v.until("told that the client has left", v.sock.gone)
			v.hall.remove(&v.sock)
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGuestThatIsHeld: its descriptor stays what it is until it is dropped,
// whatever becomes of the guest.
func TestGuestThatIsHeld(t *testing.T) {
	for name, become := range map[string]func(v *visitor){
		"it settles":             func(v *visitor) { v.settle() },
		"it is closed":           func(v *visitor) { v.Close() },
		"it settles, and closes": func(v *visitor) { v.settle(); v.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			v := stays(t, false)
			var was int
			(*guestRaw)(v.guest).Control(func(fd uintptr) {
				was = int(fd)
				become(v)
				if n, errno := rawWrite(was, []byte("held")); n != 4 || errno != 0 {
					t.Errorf("write: got %d, %v", n, errno)
				}
			})
			b := make([]byte, 4)
			if _, err := io.ReadFull(v.client, b); err != nil || string(b) != "held" {
				t.Errorf("the client read %q, %v", b, err)
			}
			if v.fd >= 0 || name == "it is closed" && v.settled() {
				t.Errorf("descriptor: got %d, want none", v.fd)
			}
			if v.closed {
				if n, err := v.client.Read(b); n > 0 || err == nil {
					t.Errorf("after the close the client read %q, %v", b[:n], err)
				}
				return
			}
			v.says("more")
			v.want(v.reads(), "more")
		})
	}
}

// TestWaitOfAGuestEnds when it is closed, or its time is over.
func TestWaitOfAGuestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(v *visitor)
		want string
	}{
		"closed":               {func(v *visitor) { v.Close() }, "use of closed"},
		"its time is over":     {func(v *visitor) { v.SetReadDeadline(time.Unix(1, 0)) }, "i/o timeout"},
		"its time will be":     {func(v *visitor) { v.SetReadDeadline(time.Now().Add(time.Millisecond)); v.call() }, "i/o timeout"},
		"over before it waits": {func(v *visitor) { v.SetReadDeadline(time.Unix(1, 0)); v.ring() }, "i/o timeout"},
	} {
		for _, old := range []bool{false, true} {
			v := stays(t, old)
			got := v.reads()
			v.until("waiting or settled", func() bool { return !old && v.idle || old && v.settled() })
			c.end(v)
			select {
			case got := <-got:
				if !strings.Contains(got, c.want) {
					t.Errorf("%s, settled %v: got %q, want %q", name, old, got, c.want)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s, settled %v: the read goes on", name, old)
			}
		}
	}
}

// TestGuestIsWatchedWhileItIsServed: its client leaves, though nobody reads.
func TestGuestIsWatchedWhileItIsServed(t *testing.T) {
	v := stays(t, true)
	v.says("request")
	v.want(v.reads(), "request")
	told := make(chan bool, 1)
	v.sock.whenGone(func() { told <- true })
	v.client.Close()
	select {
	case <-told:
	case <-time.After(30 * time.Second):
		t.Error("not told that the client has left")
	}
	if v.settled() {
		t.Error("it has settled")
	}
}

// TestResetOfAGuest is one.
func TestResetOfAGuest(t *testing.T) {
	v := stays(t, false)
	if err := v.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	v.Close()
	if _, err := v.client.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the client read: got %v, want a reset", err)
	}
}

// grows lets all but the last year of its youth pass.
func (v *visitor) grows() {
	for range youth - 1 {
		v.hall.pass()
	}
}

// TestGuestThatWaitsIsLookedAt, though it was called while it was about to wait:
// else what bounds its wait would never come.
func TestGuestThatWaitsIsLookedAt(t *testing.T) {
	v := stays(t, false)
	tried, look, done := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		first := true
		done <- (*guestRaw)(v.guest).Read(func(uintptr) bool {
			if first {
				first = false
				close(tried)
				<-look
				return false
			}
			return true
		})
	}()
	<-tried
	v.mu.Lock()
	close(look)
	for range 1000 {
		runtime.Gosched() // it comes as far as it can
	}
	v.grows()
	v.mu.Unlock()
	v.hall.grow()
	v.until("waiting", v.waiting)
	v.hall.mu.Lock()
	if v.sock.listed == 0 {
		t.Error("it waits, and nobody will look at it")
	}
	v.hall.mu.Unlock()
	v.ring()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestGuestThatIsClosedHoldsNobodyUp: its home closes when nobody holds that any
// more, and meanwhile the hall goes on.
func TestGuestThatIsClosedHoldsNobodyUp(t *testing.T) {
	v := stays(t, false)
	if err := v.settle(); err != nil {
		t.Fatal(err)
	}
	held, closed := make(chan bool), make(chan error, 1)
	(*guestRaw)(v.guest).Control(func(uintptr) {
		go func() { closed <- v.Close() }()
		for errors.Is(v.home.SetReadDeadline(time.Time{}), nil) {
			runtime.Gosched() // until it closes
		}
		go func() { v.ring(); close(held) }()
		select {
		case <-held:
		case <-time.After(30 * time.Second):
			t.Error("the hall waits for who holds it")
		}
	})
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestGuestIsKnownByTheDescriptorItHas, or not at all, whatever comes together.
func TestGuestIsKnownByTheDescriptorItHas(t *testing.T) {
	for range 100 {
		v := stays(t, false)
		v.grows()
		together(v.hall.grow, func() { v.settle() })
		(*guestRaw)(v.guest).Control(func(fd uintptr) {
			v.hall.mu.Lock()
			defer v.hall.mu.Unlock()
			if v.sock.gen == 0 || v.sock.fd != int32(fd) || v.hall.socks[v.sock.fd] != &v.sock {
				t.Errorf("the hall knows it by %d, want %d", v.sock.fd, fd)
			}
		})
		v = stays(t, false)
		v.grows()
		together(v.hall.grow, func() { v.hall.remove(&v.sock) })
		v.hall.mu.Lock()
		if n := len(v.hall.socks) + len(v.hall.young); n > 0 {
			t.Errorf("the hall remembers %d", n)
		}
		v.hall.mu.Unlock()
		v.Close()
		v.client.Close()
	}
}

// together runs all at once.
func together(fs ...func()) {
	var ready, done sync.WaitGroup
	ready.Add(len(fs))
	for _, f := range fs {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f()
		})
	}
	done.Wait()
}

// TestHeldAnswerLeavesAGuestInTheHall: it takes one write.
func TestHeldAnswerLeavesAGuestInTheHall(t *testing.T) {
	v := stays(t, false)
	const head, body, want = "HTTP/1.1 200 OK\r\n\r\n", "{}", "HTTP/1.1 200 OK\r\na: b\r\n\r\n{}"
	s := &Server{}
	s.budget = newBudget(1, &s.stats.JudgeMemory)
	x := &exchange{s: s, c: &clientConn{Conn: v.guest, lean: v.l}, note: &note{held: []byte(head + body), body: len(head)}}
	if err := x.letGo([]byte("a: b\r\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(want))
	if _, err := io.ReadFull(v.client, b); err != nil || string(b) != want {
		t.Errorf("the client read %q, %v", b, err)
	}
	if v.settled() {
		t.Error("it has settled")
	}
}
