package turn

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// configured are so many tags of a configuration, observed at various times.
func configured(n int) (tags []ConfigTag) {
	for i := range n {
		t := ConfigTag{Name: fmt.Sprintf("setting_%d", i*7%n), Value: fmt.Sprint("välue\n", i), Source: "poll"}
		if i%3 > 0 {
			t.At = full().Time.Add(time.Duration(i-n/2) * time.Second)
		}
		tags = append(tags, t)
	}
	return tags
}

// TestTagsAreOneSetWhereverTheyAre: those that are shared and those of the turn
// make the line that all of them in one map make.
func TestTagsAreOneSetWhereverTheyAre(t *testing.T) {
	for _, own := range []map[string]Tag{nil, {"batch": {Value: "3", Source: "own"}}, {"zone": {Value: "b", Source: "label", AgeMS: 5}, "setting_20": {Value: "0"}, "setting": {Value: "1"}}} {
		for _, n := range []int{0, 1, 17} {
			u := full()
			u.Tags, u.Config, u.Began = own, NewConfig(configured(n)), u.Time
			all := *u
			all.Tags, all.Config = u.AllTags(), nil
			want := string(all.AppendJSON(nil))
			if got := string(u.AppendJSON(nil)); got != want {
				t.Errorf("%d shared, %v:\ngot  %s\nwant %s", n, own, got, want)
			}
			u.Tags, u.Own = nil, u.unshared()
			if got := string(u.AppendJSON(nil)); got != want {
				t.Errorf("%d shared, in a list %v:\ngot  %s\nwant %s", n, own, got, want)
			}
			if got := u.AllTags(); !maps.Equal(got, all.Tags) {
				t.Errorf("%d shared, in a list %v:\ngot  %v\nwant %v", n, own, got, all.Tags)
			}
			for name, want := range all.Tags {
				if got, ok := u.Tag(name); got != want || !ok {
					t.Errorf("%s: got %v, %v, want %v", name, got, ok, want)
				}
			}
			if tag, ok := u.Tag("nothing"); ok || u.From("nobody") || n > 0 && !u.From("poll") {
				t.Errorf("nothing: got %v, or a source that is none", tag)
			}
		}
	}
}
