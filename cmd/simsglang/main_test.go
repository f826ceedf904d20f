package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"turnwatch/proxy/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestServesUntilItIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pr, pw := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int)
	go func() {
		c := run(ctx, []string{"-listen", "127.0.0.1:0", "-step", "0", "-fault", "altered:1", "-fault", "origin", "-fault", "cut", "-fault", "cut:0", "-parser", "qwen25", "-cuda-graph", "off"}, pw, &stderr)
		pw.Close()
		code <- c
	}()
	out := bufio.NewReader(pr)
	line, _ := out.ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("got %q", line)
	}
	body := `{"model":"m","messages":[{"role":"user","content":"1. Call t with a = \"bcd\"."}]}`
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if !strings.Contains(string(answer), `{\"a\": \"bdd\"}`) {
		t.Errorf("got %s, want an altered value", answer)
	}
	cancel()
	rest, _ := io.ReadAll(out)
	const rates = "simsglang: -fault altered strikes 100% of turns\nsimsglang: -fault origin strikes 15% of sessions, in half of their turns\n" +
		"simsglang: -fault cut strikes 5% of turns\nsimsglang: -fault cut strikes 0% of turns\n"
	if !strings.HasPrefix(string(rest), rates) {
		t.Errorf("got %s, want %s first", rest, rates)
	}
	if !strings.Contains(string(rest), "1 requests, 1 finished, 0 aborted") || !strings.Contains(string(rest), "faults struck 1 turns, 1 of 1 sessions") {
		t.Errorf("got %s", rest)
	}
	if c := <-code; c != 0 || stderr.Len() > 0 {
		t.Errorf("exit %d, %s", c, &stderr)
	}
}

func TestMistakesNameTheFlag(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if c := run(context.Background(), args, &stdout, &stderr); c != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit %d, %q; want 2, %q", args, c, stderr.String(), want)
		}
	}
	f("-index-dtype", "-index-dtype", "int4")
	f("-cuda-graph", "-cuda-graph", "maybe")
	f("no fault is named", "-fault", "gremlin")
	f("a number from 0 to 1", "-fault", "origin:2")
	f("unexpected argument", "now")
	f("listen on -listen=nowhere", "-listen", "nowhere")
	f("-speed", "-speed", "9")
	f("must be random or ids", "-score-lie", "often")
}

func TestHelpListsFlagsAndFaults(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if c := run(context.Background(), []string{"-h"}, &stdout, &stderr); c != 0 || stderr.Len() > 0 {
		t.Errorf("exit %d, %s", c, &stderr)
	}
	for _, want := range []string{"-listen", "127.0.0.1:30000", "-fault", "origin", "swallowed", "mistake", "result.FIELD", "-keep-tokens", "-score-lie", "random|ids|shifted|short|null"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %s in help", want)
		}
	}
}

// TestSaysWhatItWasTold: the plugin's part can be left out, and the status log
// is a file.
func TestSaysWhatItWasTold(t *testing.T) {
	f := func(header bool, args ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		log := t.TempDir() + "/status.log"
		pr, pw := io.Pipe()
		code := make(chan int)
		go func() {
			c := run(ctx, append([]string{"-listen", "127.0.0.1:0", "-step", "0", "-status-log", log, "-status-log-interval", "1ns"}, args...), pw, io.Discard)
			pw.Close()
			code <- c
		}()
		out := bufio.NewReader(pr)
		line, _ := out.ReadString('\n')
		_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		if got := resp.Header.Get("x-sglang-batch-size") == "1"; got != header {
			t.Errorf("%v: batch-size is there: got %t, want %t", args, got, header)
		}
		cancel()
		io.Copy(io.Discard, out)
		<-code
		if b, err := os.ReadFile(log); !bytes.Contains(b, []byte(`"running_rids":["`)) {
			t.Errorf("%v: status log: got %q, %v", args, b, err)
		}
	}
	f(true)
	f(false, "-plugin", "off")
	f(false, "-omit", "batch-size")
}

// TestScoresWhatItWasAskedFor: token ids of a turn are told to who has the key,
// and scored with the lie that was asked for.
func TestScoresWhatItWasAskedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pr, pw := io.Pipe()
	ended := make(chan struct{})
	go func() {
		run(ctx, []string{"-listen", "127.0.0.1:0", "-step", "0", "-keep-tokens", "-api-key", "k", "-score-lie", "short"}, pw, io.Discard)
		pw.Close()
		close(ended)
	}()
	out := bufio.NewReader(pr)
	line, _ := out.ReadString('\n')
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	ask := func(method, path, body string) (*http.Response, string) {
		req, _ := http.NewRequest(method, url+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp, string(b)
	}
	resp, _ := ask("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	_, facts := ask("GET", resp.Header.Get("x-sglang-turn-facts")+"/"+resp.Header.Get("x-sglang-rid"), "")
	if !strings.Contains(facts, `"input_ids":[3,`) || !strings.Contains(facts, `"output_ids":[`) {
		t.Errorf("facts: got %s", facts)
	}
	_, scores := ask("POST", "/generate", `{"input_ids":[20,21],"sampling_params":{"max_new_tokens":0},"return_logprob":true,"logprob_start_len":0}`)
	if !strings.Contains(scores, `"input_token_logprobs":[[null,20,null]],`) {
		t.Errorf("scores: got %s, want one entry too few", scores)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	io.Copy(io.Discard, out)
	<-ended
}
