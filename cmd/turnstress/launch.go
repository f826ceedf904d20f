package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a command that was started, in a group of its own so that all it
// starts ends with it.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // valid once ended is closed
}

// launch starts a command whose output goes to log.
func launch(args, env []string, log *os.File) (*process, error) {
	p := &process{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), env...)
	if err := startGroup(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) group() int { return p.cmd.Process.Pid }

// ready waits until url answers with 200.
func (p *process) ready(ctx context.Context, url string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := answers(ctx, &client, url)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended before it was ready: %v", p.cmd.Args[0], p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready within ready-timeout=%v: %w", p.cmd.Args[0], limit, err)
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// stop asks the group to end, and ends it after limit.
func (p *process) stop(limit time.Duration) {
	endGroup(p.group(), syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(limit):
	}
	endGroup(p.group(), syscall.SIGKILL) // what the command left behind
	<-p.ended
}

// since is when a process was started, by the kernel's clock; "" where that is not
// told. Together with its number it names a process for good.
func since(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the command's name may hold anything
	if fields := strings.Fields(rest); len(fields) > 19 {
		return fields[19]
	}
	return ""
}

// sweep ends what an earlier run was killed too soon to end.
func sweep(n note) {
	if n.Since != "" && since(n.Group) == n.Since {
		endGroup(n.Group, syscall.SIGKILL)
	}
}

// freePorts finds ports that nobody listens on. They are below those that the system
// gives to connections, one of which could have a port before the server does.
func freePorts(n int) (ports []string, err error) {
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		var ln net.Listener
		if ln, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			defer ln.Close()
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("find a free port from 10000 to 29999: %w", err)
}
