package sglang

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"turnwatch/proxy/turn"
)

// TestSlotsAreInTheOrderOfTheirNames, which are all that a turn finds out.
func TestSlotsAreInTheOrderOfTheirNames(t *testing.T) {
	if !slices.IsSorted(slotNames[:]) || len(slotNames) != int(retractions)+1 || slotNames[ownMean] != "own_batch_mean" || slotNames[queueAtHead] != "queue_at_head" {
		t.Errorf("got %q", slotNames)
	}
	for _, name := range slotNames {
		if !measured(name) {
			t.Errorf("%s may be declared", name)
		}
	}
}

// TestSetIsAMapOfFirsts: tags put in by slot and by name, of setups that have
// some of the names, against a map that takes the first of each name.
func TestSetIsAMapOfFirsts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := append(slices.Clone(slotNames[:]), "", "a", "dp_rank", "rid", "zone")
	setups := make([]*setup, 16)
	for i := range setups {
		of := basis{declared: new([]field)}
		for range r.IntN(3) {
			of.head = append(of.head, field{names[r.IntN(len(names))], "of all"})
		}
		for j := range i % 2 * (maxTags - 5) {
			of.head = append(of.head, field{fmt.Sprintf("more_%d", j), "x"})
		}
		setups[i] = newSetup(of)
	}
	s := new(set)
	for range 5000 {
		s.begin(setups[r.IntN(len(setups))])
		want := map[string]turn.Tag{}
		for i := range r.IntN(30) {
			tag := turn.Tag{Value: fmt.Sprint(i), Source: fromPoll, AgeMS: int64(i)}
			at := r.IntN(len(names))
			if name := names[at]; want[name] == (turn.Tag{}) && name != "" && !s.config.Has(name) && s.config.Len()+len(want) < maxTags {
				want[name] = tag
			}
			if at < len(slotNames) && r.IntN(2) == 0 {
				s.number(slot(at), i, tag.Source, time.Duration(i)*time.Millisecond)
			} else if at >= len(slotNames) {
				s.name(names[at], tag.Value, tag.Source, time.Duration(i)*time.Millisecond)
			} else {
				s.put(slot(at), tag.Value, tag.Source, time.Duration(i)*time.Millisecond)
			}
		}
		got := s.all()
		if !slices.IsSortedFunc(got, func(a, b turn.NamedTag) int { return strings.Compare(a.Name, b.Name) }) || !maps.Equal(byNames(got), want) || len(got) != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func byNames(tags []turn.NamedTag) map[string]turn.Tag {
	all := map[string]turn.Tag{}
	for _, tag := range tags {
		all[tag.Name] = tag.Tag
	}
	return all
}
