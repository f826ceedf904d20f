package turn

import (
	"encoding/hex"
	"strings"
	"testing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
	parent  = "00-" + traceID + "-" + spanID + "-01"
)

// TestTraceIsContinued: the cases of W3C's own test suite that concern a
// receiver.
func TestTraceIsContinued(t *testing.T) {
	f := func(continued, sampled bool, parents ...string) {
		t.Helper()
		got := Continue(parents, nil)
		if id := hex.EncodeToString(got.ID[:]); (id == traceID) != continued || got.Sampled != sampled {
			t.Errorf("%q: got trace %s, sampled %v, want continued %v, sampled %v", parents, id, got.Sampled, continued, sampled)
		}
		if got.ID == [16]byte{} || got.Span == [8]byte{} || (got.Parent != [8]byte{}) != continued {
			t.Errorf("%q: got %x %x below %x", parents, got.ID, got.Span, got.Parent)
		}
	}
	f(false, false)
	f(true, true, parent)
	f(true, false, parent[:53]+"00")
	f(true, true, parent[:53]+"ff") // unknown flags
	f(true, false, parent[:53]+"02")
	f(true, true, "cc"+parent[2:]+"-what-the-future-will-be-like")
	f(true, true, "cc"+parent[2:]+"-")
	f(true, true, "01"+parent[2:])
	f(false, false, parent, parent)
	f(false, false, "")
	f(false, false, "cc"+parent[2:]+".what-the-future-will-not-be-like")
	f(false, false, "ff"+parent[2:])
	f(false, false, parent+"-what-the-future-will-be-like")
	f(false, false, parent+".")
	f(false, false, ".0"+parent[2:])
	f(false, false, "0"+parent[1:54])
	f(false, false, "000"+parent[2:])
	f(false, false, strings.ToUpper(parent))
	f(false, false, parent[:3]+strings.Repeat("0", 32)+parent[35:])
	f(false, false, parent[:36]+strings.Repeat("0", 16)+parent[52:])
	f(false, false, parent[:3]+"."+parent[4:])
	f(false, false, parent[:36]+"."+parent[37:])
	f(false, false, parent[:53]+".0")
	f(false, false, parent[:54])
	f(false, false, parent[:2]+"_"+parent[3:])
}

func TestTraceStateGoesWithItsParent(t *testing.T) {
	f := func(want string, parents []string, states ...string) {
		t.Helper()
		if got := Continue(parents, states).State; got != want {
			t.Errorf("%q %q: got %q, want %q", parents, states, got, want)
		}
	}
	f("a=1", []string{parent}, "a=1")
	f("a=1,b=2,c=3", []string{parent}, "a=1,b=2", "c=3")
	f("", nil, "a=1")
	f("", []string{"bad"}, "a=1")
	f("", []string{parent}, strings.Repeat("a", maxState+1))
}

// TestTraceparentNeverSwitchesRecordingOn.
func TestTraceparentNeverSwitchesRecordingOn(t *testing.T) {
	for flags, want := range map[string]string{"01": "01", "00": "00", "02": "00", "03": "01"} {
		tr := Continue([]string{parent[:53] + flags}, nil)
		if got := tr.Traceparent(); got[:36] != parent[:36] || got[36:52] != hex.EncodeToString(tr.Span[:]) || got[53:] != want {
			t.Errorf("flags %s: got %s, want our span and the flags %s", flags, got, want)
		}
	}
	tr := NewTrace()
	if got := tr.Traceparent(); !strings.HasSuffix(got, "-00") {
		t.Errorf("a trace of our own: got %s, want it not recorded", got)
	}
	if n := tr.Beside(); n.ID == tr.ID || n.Link == nil || n.Link.Span != tr.Span || n.Parent != [8]byte{} {
		t.Errorf("beside: got %+v, want a root with a link", n)
	}
}
