package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// loop relays the answers of many servers from one thread: an epoll instance
// tells which have something to say, and each read is written to its client at
// once, without waking the goroutine that serves the client. That one is parked
// and takes the stream back when there is more to do than to pass bytes on: at
// its end, when something is wrong, and while the client is slow to take them.
type loop struct {
	ep, wake int
	poll     *os.File // ep, as the runtime's poller knows it
	raw      syscall.RawConn
	idle     time.Duration // how long a server may be silent; 0: for ever
	stats    *Stats
	lag      lag
	done     chan struct{}
	buf      []byte
	found    []*stream // of the events of a round
	owing    []*stream // passed on, and to be judged when nothing waits
	passed   int64     // bytes that are not counted yet

	mu      sync.Mutex
	streams []*stream // by the descriptor of the server's socket
	ended   bool      // no stream is taken any more
}

// loopPiece is how much of an answer a loop reads at a time, and so how much
// one stream may have of it in a turn.
const loopPiece = 64 << 10

// loopRound is how many streams a loop learns of at a time, and how many are
// judged later than they were passed on.
const loopRound = 256

// stream is an answer in the hands of a loop.
type stream struct {
	heard  time.Time
	lost   error         // why the server says no more
	broken any           // what pass panicked with
	back   chan struct{} // tells that the loop has let go

	up    int // descriptor of the server's socket
	of    *carriage
	spoke bool // the server was heard since
	owes  bool // it is among those that owe
}

func newLoop(idle, maxLag time.Duration, stats *Stats) (*loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("begin a loop: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)}
		if err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, wake, &ev); err != nil {
			unix.Close(wake)
		}
	}
	if err != nil {
		unix.Close(ep)
		return nil, fmt.Errorf("begin a loop: %w", err)
	}
	l := &loop{ep: ep, wake: wake, idle: idle, stats: stats, lag: lag{limit: maxLag, all: &stats.behind}, done: make(chan struct{}),
		buf: make([]byte, loopPiece), owing: make([]*stream, 0, loopRound), streams: make([]*stream, wake+1)}
	if err := l.register(); err != nil {
		l.shut()
		return nil, fmt.Errorf("begin a loop: %w", err)
	}
	go l.run()
	return l, nil
}

// register has the runtime's poller wait for the epoll instance. A thread that
// waited in a call of its own would have to be watched by another one, which costs
// as much as passing an event on.
func (l *loop) register() (err error) {
	if l.poll, l.raw, err = polled(l.ep, "loop"); err != nil {
		return err
	}
	return l.poll.SetReadDeadline(l.soon(time.Now()))
}

// soon is when silent servers are looked for next; never, if they may be silent.
func (l *loop) soon(now time.Time) time.Time {
	if l.idle == 0 {
		return time.Time{}
	}
	return now.Add(max(time.Millisecond, l.idle/8))
}

// carry has the loop relay a stream, and waits until it gives it back. After an
// error it never had it.
func (l *loop) carry(st *stream) error {
	if err := l.take(st); err != nil {
		return err
	}
	<-st.back
	return nil
}

// take takes a stream. It is under the lock until its events come, so that it is
// not given back before.
func (l *loop) take(st *stream) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return net.ErrClosed
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(st.up)}
	if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, st.up, &ev); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	st.heard = time.Now()
	if missing := st.up + 1 - len(l.streams); missing > 0 {
		l.streams = append(l.streams, make([]*stream, missing)...)
	}
	l.streams[st.up] = st
	return nil
}

func (l *loop) forget(st *stream) {
	l.mu.Lock()
	l.streams[st.up] = nil
	l.mu.Unlock()
}

// release gives a stream back. It runs on the loop's thread alone, so that no
// event of an old stream is taken for one of the next with its descriptor.
func (l *loop) release(st *stream) {
	st.owes = false
	l.count()
	l.forget(st)
	unix.EpollCtl(l.ep, unix.EPOLL_CTL_DEL, st.up, nil)
	st.back <- struct{}{}
}

// close ends the loop. Streams that it still has are given back as silent.
func (l *loop) close() {
	unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-l.done
	l.shut()
}

func (l *loop) shut() {
	unix.Close(l.wake)
	l.poll.Close()
}

func (l *loop) run() {
	defer close(l.done)
	defer l.end()
	var evs [loopRound]unix.EpollEvent
	for checked := time.Now(); ; {
		n, err := l.wait(evs[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = l.poll.SetReadDeadline(l.soon(time.Now()))
		}
		if err != nil {
			return
		}
		began := time.Now()
		if !l.round(evs[:n]) {
			return
		}
		if n > 0 {
			ended := time.Now()
			l.stats.looped(ended.Sub(began))
			l.lag.round(n, len(evs), began, ended)
		}
		if l.idle > 0 && began.Sub(checked) > l.idle/8 {
			checked = began
			l.expire(func(st *stream) bool { return st.silent(began) >= l.idle })
		}
	}
}

// wait waits for events. Streams are judged until there are some.
func (l *loop) wait(evs []unix.EpollEvent) (n int, err error) {
	if len(l.owing) > 0 {
		if n = l.judgeUntil(evs); n > 0 {
			return n, nil
		}
	}
	err = l.raw.Read(func(uintptr) bool {
		n = rawWait(l.ep, evs)
		return n > 0
	})
	return n, err
}

// judgeUntil judges what was put off until there are events or nothing is left.
// Before each stream the processor is offered to whoever else waits for it: that
// may be a client that has just been sent something.
func (l *loop) judgeUntil(evs []unix.EpollEvent) (n int) {
	for len(l.owing) > 0 {
		if n = rawWait(l.ep, evs); n > 0 {
			break
		}
		rawYield()
		began := time.Now()
		l.judgeNext()
		l.stats.LoopBusy.Add(int64(time.Since(began)))
	}
	return n
}

// round passes on what has come, and reports whether the loop is to go on.
func (l *loop) round(evs []unix.EpollEvent) bool {
	defer l.count()
	for _, st := range l.find(evs) {
		if st == nil {
			return false
		}
		l.ready(st)
	}
	return true
}

// find returns the streams of events, which are here until the loop lets go of
// them: each is in evs once. The call to end is nil.
func (l *loop) find(evs []unix.EpollEvent) []*stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = l.found[:0]
	for _, e := range evs {
		l.found = append(l.found, l.streams[e.Fd])
	}
	return l.found
}

// count adds what was passed on to what all loops and others count.
func (l *loop) count() {
	l.stats.BytesOut.Add(l.passed)
	l.passed = 0
}

// ready passes on what the server says.
func (l *loop) ready(st *stream) {
	n, errno := rawRead(st.up, l.buf)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return
	case errno == 0 && n > 0:
		if st.spoke = true; l.guarded(st, l.buf[:n]) {
			l.putOff(st)
			return
		}
	case st.of.x.up.isShut():
		st.lost = net.ErrClosed
	case errno != 0:
		st.lost = os.NewSyscallError("read", errno)
	default:
		st.lost = io.EOF
	}
	l.release(st)
}

// guarded passes bytes on. A panic is the stream's own.
func (l *loop) guarded(st *stream, b []byte) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			st.broken, more = p, false
		}
	}()
	return st.of.pass(l, b)
}

// putOff puts off what a stream has to be judged until nothing waits to be
// passed on, so that no stream's bytes wait for the judge of another. It is
// judged by pass, at the latest, when it can put no more aside.
func (l *loop) putOff(st *stream) {
	if st.owes || !st.of.owes() {
		return
	}
	if len(l.owing) == cap(l.owing) { // some of them ended meanwhile
		l.judgeAll()
	}
	st.owes = true
	l.owing = append(l.owing, st)
}

func (l *loop) judgeAll() {
	for len(l.owing) > 0 {
		l.judgeNext()
	}
}

// judgeNext judges the last of those that owe, which the caches know best.
func (l *loop) judgeNext() {
	last := len(l.owing) - 1
	st := l.owing[last]
	l.owing[last], l.owing = nil, l.owing[:last]
	if st.owes {
		st.owes = false
		st.of.pay()
	}
}

// end gives back all streams: nobody must wait for what has ended.
func (l *loop) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.expire(func(*stream) bool { return true })
}

// expire gives back the streams of servers that are silent for too long.
func (l *loop) expire(tooLong func(*stream) bool) {
	l.mu.Lock()
	var late []*stream
	for _, st := range l.streams {
		if st != nil && tooLong(st) {
			late = append(late, st)
		}
	}
	l.mu.Unlock()
	for _, st := range late {
		st.lost = os.ErrDeadlineExceeded
		l.release(st)
	}
}

// silent is how long the server has been silent. One that spoke since this was
// asked is silent from now on: what the loop itself took is not counted.
func (st *stream) silent(now time.Time) time.Duration {
	if st.spoke {
		st.heard, st.spoke = now, false
	}
	return now.Sub(st.heard)
}

// writeNow writes as much of b as a socket takes at once.
func writeNow(fd int, b []byte) (n int, err error) {
	for len(b) > 0 {
		n, errno := rawWrite(fd, b)
		switch errno {
		case 0:
			return n, nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return 0, nil
		}
		return 0, os.NewSyscallError("write", errno)
	}
	return 0, nil
}
