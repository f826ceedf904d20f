package direct

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestClientStaysAtItsServer(t *testing.T) {
	var asked string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/long":
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxHead))
		}
	})
	tcp := httptest.NewServer(h)
	defer tcp.Close()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	unix := httptest.NewUnstartedServer(h)
	unix.Listener.Close()
	unix.Listener = ln
	unix.Start()
	defer unix.Close()
	for _, server := range []string{tcp.URL, tcp.URL + "/", "unix:" + path} {
		base, c, tr := Client(server, nil)
		defer tr.CloseIdleConnections()
		resp, err := c.Get(base + "/away")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusTemporaryRedirect || asked != "/away" {
			t.Errorf("%s: got status %d, asked for %s", server, resp.StatusCode, asked)
		}
		if resp, err := c.Get(base + "/long"); err == nil {
			resp.Body.Close()
			t.Errorf("%s: a head of 128 KiB was read", server)
		}
	}
}
