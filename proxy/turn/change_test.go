package turn

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

func TestConfigChangeLine(t *testing.T) {
	c := (&ConfigChange{V: Version, Time: time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC), From: "1a2b3c4d", To: "", Turn: "t1",
		Changed: []Change{{Tag: "overlap", From: "on"}, {Tag: "index_dtype", From: "bf16", To: "fp8\n\xff"}}}).Sort()
	want := `{"v":1,"type":"config_change","time":"2026-03-01T12:00:00.5Z","from":"1a2b3c4d","to":"","turn":"t1",` +
		`"changed":{"index_dtype":{"from":"bf16","to":"fp8\u000a\ufffd"},"overlap":{"from":"on","to":""}}}`
	if got := string(c.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back ConfigChange
	if err := json.Unmarshal([]byte(want), &back); err != nil || back.Changed[1] != c.Changed[1] || back.From != c.From || !back.Time.Equal(c.Time) {
		t.Errorf("read back: got %+v, %v, want %+v", back, err, c)
	}
	if got := c.Names(); !slices.Equal(got, []string{"index_dtype", "overlap"}) {
		t.Errorf("names: got %v", got)
	}
}
