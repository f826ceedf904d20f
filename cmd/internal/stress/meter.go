package stress

import (
	"math/bits"
	"runtime"
	"time"
)

// Meter is what a load cost the process that played it.
type Meter struct {
	Took   time.Duration
	CPU    time.Duration // of all its threads
	Cores  int           // that it may use
	Events int64         // of answers
	Late   time.Duration // how late timers came: no more than this in 99 of 100 cases
}

// Share is how much of the cores it used.
func (m Meter) Share() float64 {
	return float64(m.CPU) / (float64(max(1, m.Took)) * float64(max(1, m.Cores)))
}

// PerEvent is the CPU for each event, all else included.
func (m Meter) PerEvent() time.Duration { return m.CPU / time.Duration(max(1, m.Events)) }

// Short reports whether the process lacked CPU, so that times and batches are not
// the server's alone: it used most of its cores, or its timers came late, for
// others used them.
func (m Meter) Short() bool { return m.Share() > 0.8 || m.Late > 20*time.Millisecond }

// meter measures.
type meter struct {
	began time.Time
	cpu   time.Duration
	late  [40]int // timers by the bits of the microseconds that they were late
	quit  chan struct{}
	done  chan struct{}
}

// beat is how often it looks whether timers come in time.
const beat = 25 * time.Millisecond

func startMeter() *meter {
	m := &meter{began: time.Now(), cpu: cpuTime(), quit: make(chan struct{}), done: make(chan struct{})}
	go m.run()
	return m
}

func (m *meter) run() {
	defer close(m.done)
	for due := time.Now().Add(beat); ; due = time.Now().Add(beat) {
		select {
		case <-m.quit:
			return
		case <-time.After(time.Until(due)):
			m.note(time.Since(due))
		}
	}
}

func (m *meter) note(d time.Duration) {
	m.late[min(bits.Len64(uint64(max(0, d.Microseconds()))), len(m.late)-1)]++
}

// latest is what 99 in 100 timers were not later than, rounded up to a power of 2.
func (m *meter) latest() time.Duration {
	all, beyond := 0, 0
	for _, n := range m.late {
		all += n
	}
	for i := len(m.late) - 1; i >= 0; i-- {
		if beyond += m.late[i]; beyond*100 > all {
			return time.Microsecond << i
		}
	}
	return 0
}

func (m *meter) stop(events int64) Meter {
	close(m.quit)
	<-m.done
	return Meter{Took: time.Since(m.began), CPU: cpuTime() - m.cpu, Cores: runtime.GOMAXPROCS(0), Events: events, Late: m.latest()}
}
