package sglangtest

import (
	"slices"
	"strings"
)

// Altered changes one character of the longest string value of a call: JSON and
// shape stay right, the content is wrong.
func Altered(a *Answer) {
	edit(a, func(args string) string {
		if v, ok := longest(values(args)); ok {
			return alter(args, v.from, v.to)
		}
		if i := strings.Index(args, ": "); i >= 0 {
			return alter(args, i+2, len(args))
		}
		return args
	})
}

// Swapped has the decode emit another token than the model meant, somewhere in a
// value or in the text: the rest of the answer goes on as if nothing were.
func Swapped(a *Answer) {
	d, text := spot(a)
	if d == nil {
		return
	}
	h := hash(2, a.said())
	b := []byte(*text)
	from := fit(*text, h)
	for i := from; i < min(from+2, len(b)); i++ {
		if _, ok := another(b[i]); ok {
			b[i] = swap(b[i], h>>(8*i))
		}
	}
	*text = string(b)
}

// swap returns another letter or digit in place of c, of the same sort.
func swap(c byte, h uint64) byte {
	first, n := byte('a'), uint64(26)
	switch {
	case c <= '9':
		first, n = '0', 10
	case c <= 'Z':
		first = 'A'
	}
	return first + byte((uint64(c-first)+1+h%(n-1))%n)
}

// Retokenised says a part of the answer in tokens of one byte each: the text is
// the same, and nothing is wrong.
func Retokenised(a *Answer) {
	if d, _ := spot(a); d != nil {
		d.bytewise = true
	}
}

// spot picks a delta with a letter or digit that can be another, in a value or
// in the text, and the text in it.
func spot(a *Answer) (*Delta, *string) {
	var found []int
	args := ""
	for i, d := range a.Deltas {
		if d.Call != nil {
			args += d.Call.Args
		}
		if text := d.text(); text != nil && fit(*text, 0) >= 0 && (d.Call == nil || inValue(args, *text)) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	d := &a.Deltas[found[hash(1, a.said())%uint64(len(found))]]
	return d, d.text()
}

// text is the text of a delta that a token can be swapped in.
func (d *Delta) text() *string {
	switch {
	case d.Call != nil && d.Call.Args != "":
		return &d.Call.Args
	case d.Content != "":
		return &d.Content
	}
	return nil
}

// inValue reports whether piece, with which args end, lies within a string
// value of them.
func inValue(args, piece string) bool {
	if strings.ContainsAny(piece, `"\`) || quotes(args)%2 == 0 {
		return false
	}
	open := strings.LastIndexByte(args, '"')
	return strings.HasSuffix(strings.TrimRight(args[:open], " "), ":") || !strings.Contains(args, ":")
}

// fit returns where in text a token begins that has a letter or digit, picked
// by h; -1 where none does.
func fit(text string, h uint64) int {
	var found []int
	for at := 0; at < len(text); at += width(text[at:]) {
		for _, c := range []byte(text[at : at+width(text[at:])]) {
			if _, ok := another(c); ok {
				found = append(found, at)
				break
			}
		}
	}
	if len(found) == 0 {
		return -1
	}
	return found[h%uint64(len(found))]
}

// BadJSON loses the colon after a key.
func BadJSON(a *Answer) {
	edit(a, func(args string) string { return strings.Replace(args, `": `, `" `, 1) })
}

// TruncatedArgs loses the last third of the arguments; the turn finishes as if
// they were whole.
func TruncatedArgs(a *Answer) {
	edit(a, func(args string) string { return strings.ToValidUTF8(args[:len(args)*2/3], "") })
}

// MissingPrefix loses the opening brace.
func MissingPrefix(a *Answer) {
	edit(a, func(args string) string { return strings.TrimPrefix(args, "{") })
}

// whole applies f to arguments of which nothing was sent.
func whole(a *Answer, f func(args string) string) {
	edit(a, func(args string) string {
		if !strings.HasPrefix(args, "{") {
			return args
		}
		return f(args)
	})
}

// DuplicatedArgs sends the arguments twice.
func DuplicatedArgs(a *Answer) {
	whole(a, func(args string) string { return args + args })
}

// TrailingData goes on after the arguments.
func TrailingData(a *Answer) {
	edit(a, func(args string) string { return args + `"}` })
}

// NotObject encodes the arguments twice.
func NotObject(a *Answer) { whole(a, quote) }

// EmptyArgs loses every property.
func EmptyArgs(a *Answer) {
	whole(a, func(string) string { return "{}" })
}

// MissingProperty loses the last property.
func MissingProperty(a *Answer) {
	edit(a, func(args string) string {
		if i := strings.LastIndex(args, `, "`); i >= 0 {
			return args[:i] + "}"
		}
		if strings.HasPrefix(args, "{") {
			return "{}"
		}
		return args
	})
}

// WrongType makes a list of a string.
func WrongType(a *Answer) {
	edit(a, func(args string) string {
		for _, v := range values(args) {
			if v.from > 0 {
				return args[:v.from-1] + `["` + args[v.from:v.to] + `"]` + args[v.to+1:]
			}
		}
		return args
	})
}

// ExtraProperty adds a property that no schema declares.
func ExtraProperty(a *Answer) {
	edit(a, func(args string) string {
		if body, ok := strings.CutSuffix(args, "}"); ok && body != "{" {
			return body + `, "__index": 7}`
		}
		return args
	})
}

// LeakedArgs puts the parser's closing markup at the end of a value.
func LeakedArgs(parser string) func(*Answer) {
	end := quote(markupOf(parser).Terminator)
	return func(a *Answer) {
		edit(a, func(args string) string {
			if v, ok := longest(values(args)); ok {
				return args[:v.to] + end[1:len(end)-1] + args[v.to:]
			}
			return args
		})
	}
}

// rename changes the name of the first call.
func rename(a *Answer, f func(string) string) {
	if i := firstCall(a); i >= 0 {
		a.Deltas[i].Call.Name = f(a.Deltas[i].Call.Name)
	}
}

// UnknownTool changes a letter of the tool's name.
func UnknownTool(a *Answer) {
	rename(a, func(name string) string { return alter(name, 0, len(name)) })
}

// MalformedName puts markup into the tool's name.
func MalformedName(a *Answer) {
	rename(a, func(name string) string { return name[:len(name)/2] + "<｜DSML｜" + name[len(name)/2:] })
}

// NullName loses the tool's name.
func NullName(a *Answer) {
	rename(a, func(string) string { return "" })
}

// again appends a copy of the first call with the given id, index raised by n.
func again(a *Answer, id string, n int) {
	i := firstCall(a)
	if i < 0 {
		return
	}
	c := a.Deltas[i].Call
	if id == "" {
		id = c.ID
	}
	second := Begin(c.Index+n, id, c.Name, "")
	for _, d := range slices.Clone(a.Deltas[i:]) {
		if d.Call != nil && d.Call.Index == c.Index {
			second.Call.Args += d.Call.Args
		}
	}
	a.Deltas = append(a.Deltas, second)
}

// IndexCollision begins a second call on the index of the first.
func IndexCollision(a *Answer) { again(a, "call_c011151000000000c0111510", 0) }

// DuplicateID sends a second call with the id of the first.
func DuplicateID(a *Answer) { again(a, "", 1) }

// SplitCall moves the second half of a call's arguments to the next index.
func SplitCall(a *Answer) {
	i := firstCall(a)
	if i < 0 {
		return
	}
	own := a.Deltas[i+1:]
	for _, d := range own[len(own)/2:] {
		if d.Call != nil {
			d.Call.Index++
		}
	}
}

// FinishWithoutCall loses the call but not the finish reason.
func FinishWithoutCall(a *Answer) { takeCall(a) }

// UnsolicitedCall adds a call to an answer in text.
func UnsolicitedCall(a *Answer) {
	if slices.ContainsFunc(a.Deltas, func(d Delta) bool { return d.Call != nil }) || len(a.Deltas) == 0 {
		return
	}
	a.Deltas = append(a.Deltas, Begin(0, "call_00000000aa00000000bb0000", "get_weather", `{"city": "Paris"}`))
	a.Finish = "tool_calls"
}

// Swallowed loses a call and says nothing: the parser could not read it.
func Swallowed(a *Answer) {
	if _, _, ok := takeCall(a); ok {
		a.Finish = "stop"
	}
}

// instead shows a call as text.
func instead(a *Answer, write func(name, args string) string, as func(string) Delta) {
	name, args, ok := takeCall(a)
	if !ok {
		return
	}
	for _, p := range cut(write(name, args), 6) {
		a.Deltas = append(a.Deltas, as(p))
	}
	a.Finish, a.Silent, a.hidden = "stop", 1, nil
}

// Leaked shows the call's markup as content: the parser did not know it.
func Leaked(parser string) func(*Answer) {
	m := markupOf(parser)
	return func(a *Answer) { instead(a, m.write, Text) }
}

// LeakedReasoning shows the call's markup as reasoning.
func LeakedReasoning(parser string) func(*Answer) {
	m := markupOf(parser)
	return func(a *Answer) { instead(a, m.write, Think) }
}

// CallInText shows the call as bare JSON in the content.
func CallInText(a *Answer) {
	instead(a, func(name, args string) string { return `{"name": ` + quote(name) + `, "arguments": ` + args + `}` }, Text)
}

// before puts text in front of what is left.
func before(a *Answer, text string) {
	var d []Delta
	for _, p := range cut(text, 6) {
		d = append(d, Text(p))
	}
	a.Deltas = append(d, a.Deltas...)
}

// SpecialToken shows a control token.
func SpecialToken(a *Answer) { before(a, "<｜end▁of▁sentence｜>") }

// Salad says nothing in many scripts.
func Salad(a *Answer) {
	before(a, "the соглас次 oραφή_ของ lfaible 缓冲区 مفتاح iндex}} наконец的ally 배치 ∂keyहै ")
}

// ReplacementChar shows a character that was cut in the server.
func ReplacementChar(a *Answer) { before(a, "The caf\uFFFD is open. ") }

// Loop says the same words up to a token limit.
func Loop(a *Answer) {
	a.Deltas = nil
	for range 256 {
		a.Deltas = append(a.Deltas, Text("the index key "))
	}
	a.Finish, a.Matched, a.Silent = "length", 0, 0
}

// DeltaReplay sends a delta that repeats the text so far.
func DeltaReplay(a *Answer) {
	text := ""
	for i, d := range a.Deltas {
		if text += d.Content; len(text) >= 16 {
			a.Deltas = slices.Insert(a.Deltas, i+1, Text(text))
			return
		}
	}
}

// MalformedEvent sends an event that breaks off.
func MalformedEvent(a *Answer) {
	bad := Delta{Raw: []byte(`data: {"id":"f3c2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"conte` + "\n\n")}
	a.Deltas = slices.Insert(a.Deltas, len(a.Deltas)/2, bad)
}

// InvalidUTF8 sends half a character.
func InvalidUTF8(a *Answer) {
	a.Deltas = append([]Delta{Text("\xe4\xbd")}, a.Deltas...)
}

// PostFinish goes on after the finish.
func PostFinish(a *Answer) { a.After = append(a.After, Text(" and then")) }

// CutOff breaks the connection halfway.
func CutOff(a *Answer) {
	halve(a)
	a.Cut = true
}

// EndWith ends the answer halfway, with the given finish reason.
func EndWith(reason string) func(*Answer) {
	return func(a *Answer) {
		halve(a)
		a.Finish, a.Matched = reason, 0
	}
}

// FailMidway ends the answer halfway with an error event.
func FailMidway(a *Answer) {
	halve(a)
	a.Failure = &Failure{Status: 503, Type: "SERVICE_UNAVAILABLE", Message: "Request running timeout reached.", Usage: true}
}

// FailFirst makes an error of an answer of which nothing was sent.
func FailFirst(a *Answer) {
	a.Deltas, a.Silent = nil, 0
	a.Failure = &Failure{Status: 400, Type: "BadRequestError", Message: "Input length exceeds the context length."}
}
