package agents

import (
	"fmt"
	"math/rand/v2"
)

// NewSession returns the session of a seed. The same seed makes the same session.
func NewSession(seed uint64) *Session {
	w := world{rand.New(rand.NewPCG(seed, 0x7475726e))}
	var s *Session
	switch seed % 3 {
	case 0:
		s = w.incident()
	case 1:
		s = w.order()
	default:
		s = w.release()
	}
	s.ID = fmt.Sprintf("session-%04d", seed)
	return s
}

// world draws the things that sessions are about.
type world struct{ *rand.Rand }

func (w world) pick(words ...string) string { return words[w.IntN(len(words))] }

func (w world) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[w.IntN(16)]
	}
	return string(b)
}

// literal is an argument whose value stands in the plan; draw makes its value
// and those that the schema allows beside it.
func (w world) literal(name, doc string, draw func() any) arg {
	a := w.draw(name, doc, draw)
	a.plan = encode(a.value)
	return a
}

// from is an argument that is copied from a result.
func (w world) from(ref, name, doc string, draw func() any) arg {
	a := w.draw(name, doc, draw)
	a.plan = ref
	return a
}

// draw makes a value and up to three others, far enough from one another that no
// change of one character makes one of another.
func (w world) draw(name, doc string, draw func() any) arg {
	a := arg{name: name, doc: doc, value: draw()}
	a.allowed = []any{a.value}
	for range 20 {
		v := draw()
		if len(a.allowed) < 4 && far(v, a.allowed) {
			a.allowed = append(a.allowed, v)
		}
	}
	w.Shuffle(len(a.allowed), func(i, j int) { a.allowed[i], a.allowed[j] = a.allowed[j], a.allowed[i] })
	return a
}

// far reports whether v differs from each of the others in two places or in length.
func far(v any, others []any) bool {
	for _, o := range others {
		x, y := encode(v), encode(o)
		if len(x) != len(y) {
			continue
		}
		n := 0
		for i := range len(x) {
			if x[i] != y[i] {
				n++
			}
		}
		if n < 2 {
			return false
		}
	}
	return true
}

// only is a value with no other beside it: the schema names it as a constant.
func only(v any) func() any { return func() any { return v } }

func (w world) ticket() any { return fmt.Sprintf("INC-%05d", w.IntN(100_000)) }
func (w world) host() any {
	return fmt.Sprintf("%s-%03d.%s.example.net", w.pick("web", "db", "cache", "queue", "search"), w.IntN(1000), w.pick("ams", "fra", "iad", "sin"))
}
func (w world) log() any {
	return fmt.Sprintf("/srv/%s/logs/2026-%02d-%02d/%s.log", w.pick("api", "billing", "ingest", "mailer"), 1+w.IntN(12), 1+w.IntN(28), w.hex(8))
}
func (w world) source() any {
	return fmt.Sprintf("internal/%s/%s_%s.go", w.pick("cache", "queue", "store", "wire"), w.pick("read", "write", "evict", "merge"), w.hex(4))
}
func (w world) hash() any  { return w.hex(40) }
func (w world) count() any { return 100 + w.IntN(900_000) }
func (w world) person() any {
	return w.pick("Zoë Ångström", "José Núñez", "Mia Weiß", "Ada Okafor", "李明")
}

// incident looks into a log and files what it found.
func (w world) incident() *Session {
	id := w.literal("incident", "Number of the incident.", w.ticket)
	host := w.from("result.host", "host", "Host of the log.", w.host)
	path := w.from("result.path", "path", "Absolute path of the log.", w.log)
	lines := w.from("result.lines", "lines", "How many lines to read from the end.", w.count)
	commit := w.from("result.commit", "commit", "Full commit hash.", w.hash)
	file := w.from("result.file", "file", "File that was changed.", w.source)
	line := w.from("result.line", "line", "Line in the file.", w.count)
	state := w.literal("state", "New state of the incident.", func() any { return w.pick("open", "in_review", "mitigated", "resolved") })
	again := id
	again.plan = "result[1].incident"
	return &Session{
		steps: []step{
			{"get_incident", "Look up an incident.", []arg{id}, object{"incident": id.value, "host": host.value, "path": path.value, "lines": lines.value}},
			{"read_log", "Read the end of a log file on a host.", []arg{host, path, lines}, object{"level": "error", "commit": commit.value, "repeated": w.count()}},
			{"get_commit", "Look up a commit.", []arg{commit}, object{"author": w.person(), "file": file.value, "line": line.value}},
			{"update_incident", "File what was found.", []arg{again, state, file, line}, object{"ok": true, "receipt": w.hex(12)}},
		},
		final: fmt.Sprintf("%v is %v", id.value, state.value),
	}
}

// order ships an order.
func (w world) order() *Session {
	id := w.literal("order", "Number of the order.", func() any { return "ORD-" + w.hex(8) })
	sku := w.from("result.sku", "sku", "Article to take from the shelf.", func() any { return fmt.Sprintf("SKU-%s-%04d", w.hex(4), w.IntN(10_000)) })
	quantity := w.from("result.quantity", "quantity", "How many to take.", w.count)
	bin := w.from("result.bin", "bin", "Bin it was taken from.", func() any { return fmt.Sprintf("%c%02d/%02d", 'A'+w.IntN(20), w.IntN(100), w.IntN(100)) })
	weight := w.from("result.grams", "grams", "Weight of the parcel in grams.", w.count)
	carrier := w.literal("carrier", "Who carries it.", func() any { return w.pick("dhl", "fedex", "gls", "postnl") })
	track := w.from("result.tracking", "tracking", "Tracking code of the parcel.", func() any { return w.hex(20) })
	again := id
	again.plan = "result[1].order"
	return &Session{
		steps: []step{
			{"get_order", "Look up an order.", []arg{id}, object{"order": id.value, "sku": sku.value, "quantity": quantity.value, "customer": w.person()}},
			{"reserve_stock", "Reserve stock for an order.", []arg{sku, quantity}, object{"bin": bin.value, "grams": weight.value}},
			{"book_parcel", "Book a parcel with a carrier.", []arg{bin, weight, carrier}, object{"tracking": track.value}},
			{"close_order", "Close an order that was shipped.", []arg{again, track}, object{"ok": true}},
		},
		final: fmt.Sprintf("%v went out with %v", id.value, carrier.value),
	}
}

// release brings a build into production.
func (w world) release() *Session {
	service := w.literal("service", "Name of the service.", only(w.pick("gateway", "ledger", "notifier", "scheduler")+"-"+w.hex(6)))
	digest := w.from("result.digest", "digest", "Digest of the image.", func() any { return "sha256:" + w.hex(64) })
	region := w.literal("region", "Where to roll out.", func() any { return w.pick("eu-central", "us-east", "ap-south", "sa-west") })
	percent := w.literal("percent", "Share of the traffic.", func() any { return []int{1, 10, 25, 50}[w.IntN(4)] })
	rollout := w.from("result.rollout", "rollout", "Number of the rollout.", func() any { return 10_000_000 + w.IntN(89_999_999) })
	conf := w.from("result.config", "config", "Path of the configuration that was used.", func() any {
		return fmt.Sprintf("/etc/deploy/%s/%s.yaml", w.pick("blue", "green", "canary"), w.hex(10))
	})
	again := service
	again.plan = "result[1].service"
	return &Session{
		steps: []step{
			{"get_build", "Look up the latest build of a service.", []arg{service}, object{"service": service.value, "digest": digest.value, "by": w.person()}},
			{"start_rollout", "Start to roll out an image.", []arg{digest, region, percent}, object{"rollout": rollout.value, "config": conf.value}},
			{"watch_rollout", "Read the health of a rollout.", []arg{rollout, conf}, object{"healthy": true, "rollout": rollout.value}},
			{"finish_rollout", "Make a rollout permanent.", []arg{again, rollout}, object{"ok": true}},
		},
		final: fmt.Sprintf("%v runs in %v", service.value, region.value),
	}
}
