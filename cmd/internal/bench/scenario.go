package bench

import (
	"fmt"
	"math"
	"time"
)

// Scenario is a load with a name.
type Scenario struct {
	Name  string
	About string
	Load
	PerAnswer bool // the cost that counts is that of an answer, not of an event
}

// Scenarios lists those that proxies are compared in. Clients send requests of
// 4 KiB with one tool, and half of the events are arguments of a call, unless a
// scenario says otherwise.
func Scenarios() []Scenario {
	second := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	stream := func(clients, events int, rate, ramp, warm, measured float64) Load {
		return Load{Params: Params{Dialect: "chat", Stream: true, Events: events, Rate: rate},
			Clients: clients, Ramp: second(ramp), Warm: second(warm), For: second(measured), Request: 4 << 10, Tools: 1}
	}
	whole := func(clients int, dialect string, request, answer int) Load {
		return Load{Params: Params{Dialect: dialect, Size: answer}, Clients: clients, Ramp: second(.5), Warm: second(1), For: second(5), Request: request, Tools: 1}
	}
	short := whole(32, "chat", 4<<10, 0)
	short.Fresh = true
	idle := stream(5000, 50, .2, 5, 2, 6)
	idle.Request = 16 << 10
	return []Scenario{
		{"paced", "1,000 streams of 30 events a second", stream(1000, 240, 30, 2, 1.5, 8), false},
		{"light", "200 streams of 30 events a second", stream(200, 120, 30, 1, 1, 6), false},
		{"fast", "64 streams without a pause", stream(64, 256, 0, .5, 1, 6), false},
		{"unary", "answers that do not stream, to 32 clients", whole(32, "chat", 4<<10, 0), true},
		{"other", "the same of a path that nobody judges", whole(32, "other", 4<<10, 0), true},
		{"short", "a connection for each such answer", short, true},
		{"upload", "requests of 4 MiB, judged, from 4 clients", whole(4, "chat", 4<<20, 0), true},
		{"download", "answers of 4 MiB, not judged, to 4 clients", whole(4, "other", 4<<10, 4<<20), true},
		{"idle", "5,000 streams of an event each 5 seconds, requests of 16 KiB", idle, false},
	}
}

// Curves lists what the cost is measured against, each with its points.
func Curves() map[string][]Scenario {
	return map[string][]Scenario{
		"streams":   along([]int{100, 300, 1000, 3000, 9000}, "%d streams", ofStreams),
		"rate":      along([]int{300, 3000, 9000, 18000, 30000}, "%d events/s", ofRate),
		"request":   along([]int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}, "%d bytes of request", ofRequest),
		"tools":     along([]int{1, 10, 50, 100, 500}, "%d tools", ofTools),
		"arguments": along([]int{100, 1 << 10, 10 << 10, 100 << 10, 1 << 20}, "%d bytes of arguments", ofArguments),
	}
}

// along makes a scenario of each point.
func along(points []int, name string, of func(n int) (l Load, perAnswer bool)) (all []Scenario) {
	for _, n := range points {
		l, perAnswer := of(n)
		all = append(all, Scenario{Name: fmt.Sprintf(name, n), Load: l, PerAnswer: perAnswer})
	}
	return all
}

// measured is how long a point of a curve is measured.
const measured = 5 * time.Second

// paced is a load of so many streams that together bring so many events a second.
func paced(streams int, events float64) Load {
	rate := events / float64(streams)
	return Load{Params: Params{Dialect: "chat", Stream: true, Events: max(8, int(math.Ceil(rate*8))), Rate: rate}, Clients: streams,
		Ramp: max(time.Second, time.Duration(streams)*time.Millisecond), Warm: 2 * time.Second, For: measured, Request: 4 << 10, Tools: 1}
}

func ofStreams(n int) (Load, bool) { return paced(n, 9000), false }
func ofRate(n int) (Load, bool)    { return paced(300, float64(n)), false }

func ofRequest(n int) (Load, bool) {
	return Load{Params: Params{Dialect: "chat"}, Clients: 8, Ramp: time.Second / 2, Warm: time.Second, For: measured, Request: n, Tools: 1}, true
}

func ofTools(n int) (Load, bool) {
	return Load{Params: Params{Dialect: "chat"}, Clients: 8, Ramp: time.Second / 2, Warm: time.Second, For: measured, Request: 4 << 10, Tools: n}, true
}

// argumentsPiece is how much of the arguments an event brings.
const argumentsPiece = 256

func ofArguments(n int) (Load, bool) {
	events := 2 * (3 + n/argumentsPiece) // half of them are text
	return Load{Params: Params{Dialect: "chat", Stream: true, Events: events, Piece: min(n, argumentsPiece)}, Clients: 8,
		Ramp: time.Second / 2, Warm: time.Second, For: measured, Request: 4 << 10, Tools: 1}, true
}
