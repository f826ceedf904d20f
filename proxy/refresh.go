package proxy

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// refreshEvery is how long a value made from files may be used before they are
// looked at again.
const refreshEvery = time.Second

// filePatience is how long a handshake, or a look at a secret, waits for a file.
const filePatience = time.Second

// refreshed is a value made from files and made anew when one of them changes.
//
// The files are looked at when the value is used, at most once a refreshEvery:
// a stat follows the symbolic links that an orchestrator swaps to replace a
// secret, which a watch on the file itself would miss, and there is nothing to
// start or to stop. A change that cannot be used is counted and logged once,
// and the value before it stays.
type refreshed[T any] struct {
	what  string // for the log
	files []string
	load  func() (T, error)
	every time.Duration
	log   *slog.Logger

	value atomic.Pointer[T]
	good  atomic.Int64 // changes taken over
	bad   atomic.Int64 // changes that could not be used

	mu      sync.Mutex
	stamps  []os.FileInfo
	checked time.Time
}

// start makes the first value; its error is the caller's to report.
func (r *refreshed[T]) start() error {
	r.stamps, r.checked = r.stat(), time.Now()
	v, err := r.load()
	if err == nil {
		r.value.Store(&v)
	}
	return err
}

// get returns the value. It never waits for another goroutine that looks at
// the files, nor for files that do not answer.
func (r *refreshed[T]) get() T {
	r.lookAfter(r.every)
	return *r.value.Load()
}

// look looks at the files now, unless somebody does.
func (r *refreshed[T]) look() { r.lookAfter(0) }

// lookAfter looks at the files unless somebody does, or did within age.
func (r *refreshed[T]) lookAfter(age time.Duration) {
	switch {
	case !r.mu.TryLock():
	case time.Since(r.checked) < age:
		r.mu.Unlock()
	default:
		r.inTime()
	}
}

// inTime takes over a change, and unlocks mu. On a mount that is dead a file may
// never answer: that is said and counted once, and the value stays until it does.
func (r *refreshed[T]) inTime() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.mu.Unlock()
		r.check()
	}()
	patience := time.NewTimer(filePatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		r.bad.Add(1)
		r.log.Error("kept the old "+r.what, "error", "its files do not answer", "files", r.files)
	}
}

// check takes over a change. The stamps are taken before the files are read,
// so that a change during the reading is seen the next time.
func (r *refreshed[T]) check() {
	r.checked = time.Now()
	now := r.stat()
	if slices.EqualFunc(now, r.stamps, sameFile) {
		return
	}
	r.stamps = now
	v, err := r.load()
	if err != nil {
		r.bad.Add(1)
		r.log.Error("kept the old "+r.what, "error", err)
		return
	}
	r.good.Add(1)
	r.value.Store(&v)
	r.log.Info("took over the new "+r.what, "files", r.files)
}

// stat returns what tells a file from its successor; nil for one that is gone.
func (r *refreshed[T]) stat() []os.FileInfo {
	infos := make([]os.FileInfo, len(r.files))
	for i, name := range r.files {
		if info, err := os.Stat(name); err == nil {
			infos[i] = info
		}
	}
	return infos
}

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
