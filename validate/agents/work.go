package agents

import (
	"fmt"
)

func (w *world) ticket() any { return fmt.Sprintf("INC-%05d", w.IntN(100_000)) }
func (w *world) host() any {
	return fmt.Sprintf("%s-%03d.%s.example.net", w.pick("web", "db", "cache", "queue", "search"), w.IntN(1000), w.pick("ams", "fra", "iad", "sin"))
}
func (w *world) log() any {
	return fmt.Sprintf("/srv/%s/logs/2026-%02d-%02d/%s.log", w.pick("api", "billing", "ingest", "mailer"), 1+w.IntN(12), 1+w.IntN(28), w.hex(8))
}
func (w *world) source() any {
	return fmt.Sprintf("internal/%s/%s_%s.go", w.pick("cache", "queue", "store", "wire"), w.pick("read", "write", "evict", "merge"), w.hex(4))
}
func (w *world) hash() any  { return w.hex(40) }
func (w *world) count() any { return 100 + w.IntN(900_000) }

// person is a name that takes more than a byte a character, in one script alone:
// beside names in many, a salad of scripts would not stand out to the judge.
func (w *world) person() string {
	return w.pick("Zoë Ångström", "José Núñez", "Mia Weiß", "Ada Òkáfọ̀", "Łukasz Żak", "Đặng Thị Hằng", "Ğülşen Çiçek")
}

// named is a person with something that tells two of one name apart.
func (w *world) named() any { return w.person() + " " + w.letters(3, "ABCDEFGHJKLMNPRSTUVWXYZ") }

// incident looks into a log and files what it found.
func (w *world) incident() ([]step, string) {
	id := w.literal("incident", "Number of the incident.", w.ticket)
	host := w.from("result.host", "host", "Host of the log.", w.host)
	path := w.from("result.path", "path", "Absolute path of the log.", w.log)
	lines := w.from("result.lines", "lines", "How many lines to read from the end.", w.count)
	commit := w.from("result.commit", "commit", "Full commit hash.", w.hash)
	file := w.from("result.file", "file", "File that was changed.", w.source)
	line := w.from("result.line", "line", "Line in the file.", w.count)
	state := w.literal("state", "New state of the incident.", func() any { return w.pick("open", "in_review", "mitigated", "resolved") })
	again := id
	again.plan = w.first("incident")
	return []step{
		{"get_incident", "Look up an incident.", []arg{id}, fields{{"incident", id.value}, {"host", host.value}, {"path", path.value}, {"lines", lines.value}}},
		{"read_log", "Read the end of a log file on a host.", []arg{host, path, lines}, fields{{"level", "error"}, {"commit", commit.value}, {"repeated", w.count()}}},
		{"get_commit", "Look up a commit.", []arg{commit}, fields{{"author", w.person()}, {"file", file.value}, {"line", line.value}}},
		{"update_incident", "File what was found.", []arg{again, state, file, line}, fields{{"ok", true}, {"receipt", w.hex(12)}}},
	}, fmt.Sprintf("%v is %v", id.value, state.value)
}

// order ships an order.
func (w *world) order() ([]step, string) {
	id := w.literal("order", "Number of the order.", func() any { return "ORD-" + w.hex(8) })
	sku := w.from("result.sku", "sku", "Article to take from the shelf.", func() any { return fmt.Sprintf("SKU-%s-%04d", w.hex(4), w.IntN(10_000)) })
	quantity := w.from("result.quantity", "quantity", "How many to take.", w.count)
	bin := w.from("result.bin", "bin", "Bin it was taken from.", func() any { return fmt.Sprintf("%c%02d/%02d", 'A'+w.IntN(20), w.IntN(100), w.IntN(100)) })
	weight := w.from("result.grams", "grams", "Weight of the parcel in grams.", w.count)
	carrier := w.literal("carrier", "Who carries it.", func() any { return w.pick("dhl", "fedex", "gls", "postnl") })
	track := w.from("result.tracking", "tracking", "Tracking code of the parcel.", func() any { return w.hex(20) })
	again := id
	again.plan = w.first("order")
	return []step{
		{"get_order", "Look up an order.", []arg{id}, fields{{"order", id.value}, {"sku", sku.value}, {"quantity", quantity.value}, {"customer", w.person()}}},
		{"reserve_stock", "Reserve stock for an order.", []arg{sku, quantity}, fields{{"bin", bin.value}, {"grams", weight.value}}},
		{"book_parcel", "Book a parcel with a carrier.", []arg{bin, weight, carrier}, fields{{"tracking", track.value}}},
		{"close_order", "Close an order that was shipped.", []arg{again, track}, fields{{"ok", true}}},
	}, fmt.Sprintf("%v went out with %v", id.value, carrier.value)
}

// release brings a build into production.
func (w *world) release() ([]step, string) {
	service := w.literal("service", "Name of the service.", only(w.pick("gateway", "ledger", "notifier", "scheduler")+"-"+w.hex(6)))
	digest := w.from("result.digest", "digest", "Digest of the image.", func() any { return "sha256:" + w.hex(64) })
	region := w.literal("region", "Where to roll out.", func() any { return w.pick("eu-central", "us-east", "ap-south", "sa-west") })
	percent := w.literal("percent", "Share of the traffic.", func() any { return []int{1, 10, 25, 100}[w.IntN(4)] })
	rollout := w.from("result.rollout", "rollout", "Number of the rollout.", func() any { return 10_000_000 + w.IntN(89_999_999) })
	conf := w.from("result.config", "config", "Path of the configuration that was used.", func() any {
		return fmt.Sprintf("/etc/deploy/%s/%s.yaml", w.pick("blue", "green", "canary"), w.hex(10))
	})
	again := service
	again.plan = w.first("service")
	return []step{
		{"get_build", "Look up the latest build of a service.", []arg{service}, fields{{"service", service.value}, {"digest", digest.value}, {"by", w.person()}}},
		{"start_rollout", "Start to roll out an image.", []arg{digest, region, percent}, fields{{"rollout", rollout.value}, {"config", conf.value}}},
		{"watch_rollout", "Read the health of a rollout.", []arg{rollout, conf}, fields{{"healthy", true}, {"rollout", rollout.value}}},
		{"finish_rollout", "Make a rollout permanent.", []arg{again, rollout}, fields{{"ok", true}}},
	}, fmt.Sprintf("%v runs in %v", service.value, region.value)
}

// parcel sends something to a person: a name in letters of its own, an object
// within an object, a text of some length.
func (w *world) parcel() ([]step, string) {
	id := w.literal("customer", "Number of the customer.", func() any { return "CUS-" + w.hex(7) })
	name := w.from("result.name", "name", "Name of the person, as it is written.", w.named)
	name.pattern = true
	address := w.address()
	label := w.from("result.label", "label", "Text of the label.", only("["+w.text(160)+"]"))
	job := w.from("result.job", "job", "Number of the job.", func() any { return 1_000_000 + w.IntN(8_999_999) })
	language := w.literal("language", "Language to write in.", func() any { return w.pick("français", "svenska", "polski", "español") })
	again := id
	again.plan = w.first("customer")
	return []step{
		{"get_customer", "Look up a customer.", []arg{id}, fields{{"customer", id.value}, {"name", name.value}, {"address", address.value}}},
		{"create_shipment", "Begin a shipment.", []arg{address, name}, fields{{"label", label.value}}},
		{"print_label", "Print a label.", []arg{label}, fields{{"job", job.value}}},
		{"notify_customer", "Write to a customer.", []arg{again, job, language}, fields{{"sent", true}}},
	}, fmt.Sprintf("%v is %v, in %v", id.value, name.value, language.value)
}

// address is an object with an object in it.
func (w *world) address() arg {
	number := func() any { return 1_000_000 + w.IntN(89_000_000) }
	at := object("at", "Where it is, in millionths of a degree.", w.draw("lat", "North.", number), w.draw("lon", "East.", number))
	a := object("address", "Where it goes.",
		w.draw("street", "Street and number.", func() any {
			return fmt.Sprintf("%s %d", w.pick("Storgatan", "Hauptstraße", "Rua Augusta", "ulica Długa"), 100+w.IntN(900))
		}),
		w.draw("city", "City.", func() any { return w.pick("Malmö", "Köln", "São Paulo", "Łódź") }),
		w.draw("code", "Postal code.", func() any { return w.letters(6, "0123456789") }), at)
	a.plan = "result.address"
	return a
}

// object is an argument that is made of others.
func object(name, doc string, members ...arg) arg {
	var value fields
	for _, m := range members {
		value = append(value, field{m.name, m.value})
	}
	return arg{name: name, doc: doc, value: value, members: members}
}
