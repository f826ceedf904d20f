package proxy_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"turnwatch/proxy"
	"turnwatch/proxy/leaktest"
)

// portable makes every relay that says nothing of loops do without them, as
// it must on other systems: go test ./proxy -portable.
var portable = flag.Bool("portable", false, "relay every answer by a goroutine of its own")

func TestMain(m *testing.M) {
	if url := os.Getenv(childUpstream); url != "" {
		os.Exit(beChild(url))
	}
	leaktest.Main(m)
}

// The environment of a child: the server behind it, and how many descriptors
// it may have; empty means as many as there are.
const (
	childUpstream = "PROXY_TEST_UPSTREAM"
	childFiles    = "PROXY_TEST_FILES"
)

// beChild is a process of a proxy alone: it says where it listens, for each line
// that it reads what it holds for judging and of stacks, and runs until its standard
// input ends.
func beChild(url string) int {
	if n := os.Getenv(childFiles); n != "" {
		var lim unix.Rlimit
		fmt.Sscan(n, &lim.Cur)
		lim.Max = lim.Cur
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	srv, err := proxy.New(proxy.Config{Upstream: url})
	if err == nil {
		var ln net.Listener
		if ln, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			go srv.Serve(ln)
			fmt.Println(ln.Addr())
			for in := bufio.NewScanner(os.Stdin); in.Scan(); {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				fmt.Println(srv.Stats().JudgeMemory.Load(), m.StackInuse)
			}
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// child starts a proxy in a process of its own and returns its process id.
func child(t *testing.T, url string, env ...string) (p *relay, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childUpstream+"="+url)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	})
	told := bufio.NewReader(out)
	addr, err := told.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	held := func() (judged, stacks int) {
		io.WriteString(in, "\n")
		if _, err := fmt.Fscanln(told, &judged, &stacks); err != nil {
			t.Errorf("child: what it holds: %v", err)
		}
		return judged, stacks
	}
	return &relay{t: t, network: "tcp", addr: strings.TrimSpace(addr), held: held}, cmd.Process.Pid
}
