package proxy_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves a goroutine behind. fasthttp's workers
// look only once a second whether they are still wanted; its clock, one for
// the whole process, has no end.
func TestMain(m *testing.M) {
	code := m.Run()
	var leaked error
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		if leaked = goleak.Find(goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1")); leaked == nil {
			break
		}
	}
	if code == 0 && leaked != nil {
		fmt.Fprintln(os.Stderr, leaked)
		code = 1
	}
	os.Exit(code)
}
