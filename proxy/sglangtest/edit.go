package sglangtest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// edit rewrites the argument text that is left of the first call. The new text
// lies on the deltas as the old one did, the last of them takes what is over.
func edit(a *Answer, f func(args string) string) {
	first := slices.IndexFunc(a.Deltas, func(d Delta) bool { return d.Call != nil && d.Call.Args != "" })
	if first < 0 {
		return
	}
	index := a.Deltas[first].Call.Index
	var own []*CallDelta
	old := ""
	for _, d := range a.Deltas[first:] {
		if d.Call != nil && d.Call.Index == index {
			own = append(own, d.Call)
			old += d.Call.Args
		}
	}
	lay(f(old), own)
	a.Deltas = slices.DeleteFunc(a.Deltas, func(d Delta) bool {
		return d.Call != nil && d.Call.Index == index && d.Call.Args == "" && d.Call.ID == "" && d.Call.Name == ""
	})
}

func lay(text string, own []*CallDelta) {
	for i, c := range own {
		n := min(len(c.Args), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		if i == len(own)-1 {
			n = len(text)
		}
		c.Args, text = text[:n], text[n:]
	}
}

// span is a string value in argument text, without its quotes.
type span struct{ from, to int }

// values finds the string values in the rest of a call's arguments. The rest
// may begin in the middle of a string: an odd number of quotes says so.
func values(args string) []span {
	var out []span
	open := -1
	if quotes(args)%2 == 1 {
		open = 0
	}
	key := false
	for i := 0; i < len(args); i++ {
		switch {
		case open >= 0 && args[i] == '\\':
			i++
		case args[i] != '"':
		case open < 0:
			open = i + 1
			key = !strings.HasSuffix(strings.TrimRight(args[:i], " "), ":")
		default:
			if !key && i > open {
				out = append(out, span{open, i})
			}
			open = -1
		}
	}
	return out
}

func quotes(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			n++
		}
	}
	return n
}

// longest returns the longest of the spans.
func longest(all []span) (span, bool) {
	if len(all) == 0 {
		return span{}, false
	}
	return slices.MaxFunc(all, func(a, b span) int { return (a.to - a.from) - (b.to - b.from) }), true
}

// another returns the letter or digit after c, and whether c is one.
func another(c byte) (byte, bool) {
	switch {
	case c == 'z' || c == 'Z':
		return c - 25, true
	case c == '9':
		return '0', true
	case 'a' <= c && c < 'z', 'A' <= c && c < 'Z', '0' <= c && c < '9':
		return c + 1, true
	}
	return c, false
}

// alter replaces the letter or digit nearest after the middle of s[from:to].
func alter(s string, from, to int) string {
	for n := range to - from {
		i := from + ((to-from)/2+n)%(to-from)
		if c, ok := another(s[i]); ok {
			return s[:i] + string(c) + s[i+1:]
		}
	}
	return s
}

// takeCall removes the first call that is left whole and returns its name and
// arguments. It reports false, and changes nothing, when there is none.
func takeCall(a *Answer) (name, args string, ok bool) {
	first := firstCall(a)
	if first < 0 {
		return "", "", false
	}
	index := a.Deltas[first].Call.Index
	name = a.Deltas[first].Call.Name
	a.Deltas = slices.DeleteFunc(a.Deltas, func(d Delta) bool {
		if d.Call == nil || d.Call.Index != index {
			return false
		}
		args += d.Call.Args
		a.Silent += a.cost(d)
		if a.tokens {
			a.hidden = append(a.hidden, d.outputIDs()...)
		}
		return true
	})
	return name, args, true
}

// firstCall returns where the first call that is left whole begins, or -1.
func firstCall(a *Answer) int {
	return slices.IndexFunc(a.Deltas, func(d Delta) bool { return d.Call != nil && d.Call.Name != "" })
}

// halve drops the second half of the deltas.
func halve(a *Answer) {
	a.Deltas = a.Deltas[:(len(a.Deltas)+1)/2]
	a.Silent = 0
}
