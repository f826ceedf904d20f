package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"turnwatch/proxy/sglangtest"
)

// patience bounds every wait of a script.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"turnstress": main, "server": server})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"simulate": simulate, "exits": exits, "await": await, "signal": send,
	}})
}

// settings are those of a simulated server, as flags.
func settings(args []string) (sglangtest.Config, string, error) {
	cfg := sglangtest.Config{Plugin: true}
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	listen := fs.String("listen", "127.0.0.1:0", "")
	graph := fs.String("graph", "on", "")
	fs.StringVar(&cfg.IndexDtype, "dtype", "bf16", "")
	fs.DurationVar(&cfg.Step, "step", 0, "")
	fs.BoolVar(&cfg.Plugin, "plugin", true, "")
	fs.StringVar(&cfg.APIKey, "key", "", "")
	fs.Func("fault", "", func(name string) error {
		f, err := sglangtest.NewFault(name, 1, 1, "deepseekv4")
		cfg.Faults = append(cfg.Faults, f)
		return err
	})
	err := fs.Parse(args)
	cfg.DisableCUDAGraph = *graph == "off"
	return cfg, *listen, err
}

// server is a command that runs a simulated server until it is told to end.
func server() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	cfg, listen, err := settings(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s := sglangtest.Start(ln, cfg)
	<-ctx.Done()
	s.Close()
}

// simulate is: simulate VAR [flags]. It sets VAR to the URL of a server.
func simulate(ts *testscript.TestScript, _ bool, args []string) {
	cfg, _, err := settings(args[1:])
	ts.Check(err)
	s := sglangtest.NewServer(cfg)
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// exits is: exits STATUS COMMAND…. It runs the command and wants that status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit status %d, want %s:\n%s%s", code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// await is: await FILE REGEXP. It waits until the file matches.
func await(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[1])
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(ts.MkAbs(args[0]))
		if re.Match(b) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], b)
		}
	}
}

// send is: signal NAME SIG. It sends a signal to a command in the background.
func send(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}[args[1]]
	for _, cmd := range ts.BackgroundCmds() {
		if cmd.Args[0] == args[0] || len(cmd.Args) > 0 && regexp.MustCompile(args[0]+"$").MatchString(cmd.Path) {
			ts.Check(cmd.Process.Signal(sig))
		}
	}
}
