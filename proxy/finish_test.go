package proxy

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurnsGather while they come faster than one by one: until then none waits,
// and in the end none is left.
func TestTurnsGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, stop, done := make(chan string, gatherRoom), make(chan struct{}), make(chan string, gatherRoom)
		begin := time.Now()
		go drain(queue, stop, gatherFor, func(turn string) {
			if turn == "busy" {
				queue <- "next" // comes meanwhile
			}
			done <- fmt.Sprint(turn, " ", time.Since(begin))
		})
		f := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			for _, w := range want {
				select {
				case got := <-done:
					if got != w {
						t.Errorf("%s: got %s, want %s", what, got, w)
					}
				default:
					t.Errorf("%s: got none, want %s", what, w)
				}
			}
			if len(done) > 0 {
				t.Errorf("%s: %d more turns", what, len(done))
			}
		}
		f("at first")
		queue <- "one"
		f("one alone", "one 0s")
		queue <- "busy"
		f("busy", "busy 0s", "next 0s")
		queue <- "a"
		queue <- "b"
		f("gathering")
		time.Sleep(gatherFor)
		f("gathered", "a 2ms", "b 2ms")
		time.Sleep(2 * gatherFor)
		queue <- "last"
		f("idle again", "last 6ms")
		queue <- "busy"
		f("busy", "busy 6ms", "next 6ms")
		queue <- "end"
		close(stop)
		time.Sleep(2 * gatherFor)
		f("stopped", "end 8ms")
	})
}
