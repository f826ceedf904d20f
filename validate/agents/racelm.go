package agents

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// racelm makes a session as racelm was trained on: a request in free text, three
// calls and a sentence. Declared are the tools of its family, in any order, and
// up to two of others. Its model is small and knows no other form, so that
// neither rules, canaries nor filler can be put in.
func racelm(seed uint64, _ Shape) *Session {
	f := forge{world{Rand: rand.New(rand.NewPCG(seed, 0x7261636c))}}
	makers := []func() task{f.orders, f.code, f.deploy, f.trains, f.records, f.sensors}
	family := f.IntN(len(makers))
	t := makers[family]()
	return &Session{ID: fmt.Sprintf("session-%04d", seed), user: t.request, tools: f.declare(family),
		steps: t.steps, final: t.closing, strict: true, plain: true}
}

// task is what a family makes of chance.
type task struct {
	request string
	steps   []step
	closing string
}

// forge draws what racelm's sessions are about.
type forge struct{ world }

const (
	upper      = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower      = "abcdefghijklmnopqrstuvwxyz"
	figures    = "0123456789"
	upperDigit = upper + figures
)

func (f *forge) between(low, high int) int { return low + f.IntN(high-low+1) }

func (f *forge) stem() string {
	return f.pick("relay", "parse", "queue", "index", "shard", "token", "cache", "probe", "merge", "batch") +
		"_" + f.letters(f.between(3, 4), lower+figures)
}

func (f *forge) email() string {
	return fmt.Sprintf("%s.%d@%s.dev", f.letters(f.between(4, 6), lower), f.between(10, 99), f.letters(4, lower))
}

// decimal is n hundredths or tenths as Python writes such a number.
func decimal(n, parts int) json.Number {
	whole, rest := n/parts, n%parts
	digits := strings.TrimRight(fmt.Sprintf("%0*d", len(fmt.Sprint(parts))-1, rest), "0")
	if digits == "" {
		digits = "0"
	}
	return json.Number(fmt.Sprintf("%d.%s", whole, digits))
}

// given is a step with the values that its call is due to have.
func given(name string, args, result fields) step {
	s := step{tool: name, result: result}
	for _, a := range args {
		s.args = append(s.args, arg{name: a.name, value: a.value})
	}
	return s
}

func (f *forge) orders() task {
	id := f.letters(3, upperDigit) + "-" + f.letters(4, figures)
	region, reason := f.pick("eu", "us", "ap", "sa"), f.pick("damaged", "late", "wrong_item")
	cents, mail, ref := f.between(100, 999999), f.email(), "RX-"+f.letters(5, figures)
	return task{f.pick(
		fmt.Sprintf("Find order %s in %s, refund it as %s, then notify the buyer.", id, region, reason),
		fmt.Sprintf("Buyer of %s (%s) says: %s. Refund and notify.", id, region, reason),
		fmt.Sprintf("Refund %s, reason %s, region %s, and tell the buyer.", id, reason, region),
	), []step{
		given("find_order", fields{{"order_id", id}, {"region", region}}, fields{{"cents", cents}, {"email", mail}}),
		given("refund", fields{{"order_id", id}, {"cents", cents}, {"reason", reason}}, fields{{"ref", ref}}),
		given("notify", fields{{"email", mail}, {"ref", ref}}, fields{{"sent", true}}),
	}, fmt.Sprintf("Refund %s of %d cents sent to %s.", ref, cents, mail)}
}

func (f *forge) code() task {
	text, folder, limit := f.stem(), "src/"+f.stem(), f.between(2, 9999)
	path := folder + "/" + f.stem() + ".go"
	line, sha := f.between(1, 9999), f.hex(7)
	return task{f.pick(
		fmt.Sprintf("Find %s under %s, open the hit and set its limit to %d.", text, folder, limit),
		fmt.Sprintf("Set the limit near %s to %d; it is in %s.", text, limit, folder),
		fmt.Sprintf("In %s, look for %s and patch its limit: %d.", folder, text, limit),
	), []step{
		given("grep", fields{{"text", text}, {"dir", folder}}, fields{{"path", path}, {"line", line}}),
		given("read", fields{{"path", path}, {"line", line}}, fields{{"sha", sha}}),
		given("patch", fields{{"path", path}, {"sha", sha}, {"limit", limit}}, fields{{"ok", true}}),
	}, fmt.Sprintf("%s at %s now has limit %d.", path, sha, limit)}
}

func (f *forge) deploy() task {
	service, branch, zone := f.stem(), "fix/"+f.stem(), f.pick("east", "west", "north")
	replicas, limit := f.between(2, 60), f.between(20, 999)
	image, id := "img-"+f.hex(7), "d"+f.letters(6, figures)
	return task{f.pick(
		fmt.Sprintf("Ship %s of %s to %s with %d replicas, check within %d s.", branch, service, zone, replicas, limit),
		fmt.Sprintf("Build %s from %s, deploy %d copies in %s, wait %d s.", service, branch, replicas, zone, limit),
		fmt.Sprintf("%s: deploy %s, zone %s, replicas %d, timeout %d.", service, branch, zone, replicas, limit),
	), []step{
		given("build", fields{{"service", service}, {"branch", branch}}, fields{{"image", image}}),
		given("deploy", fields{{"image", image}, {"zone", zone}, {"replicas", replicas}}, fields{{"deploy_id", id}}),
		given("check", fields{{"deploy_id", id}, {"timeout_s", limit}}, fields{{"state", "up"}}),
	}, fmt.Sprintf("%s runs in %s as %s.", image, zone, id)}
}

// towns returns two that differ.
func (f *forge) towns() (from, to string) {
	all := []string{"Basel", "Turin", "Lyon", "Graz", "Porto", "Gdansk", "Bergen", "Ghent", "Brno", "Malmo"}
	f.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[0], all[1]
}

func (f *forge) trains() task {
	from, to := f.towns()
	date := fmt.Sprintf("2027-%02d-%02d", f.between(1, 12), f.between(1, 28))
	card, train := f.pick("visa", "amex", "debit"), fmt.Sprintf("%s%d", f.pick("IC", "EC", "RJ"), f.between(100, 9999))
	seat, hold := fmt.Sprintf("%d%s", f.between(1, 99), f.letters(1, "ABCDEF")), "H"+f.letters(6, upperDigit)
	amount := decimal(f.between(1000, 39999), 100)
	return task{f.pick(
		fmt.Sprintf("Book %s to %s on %s, pay by %s.", from, to, date, card),
		fmt.Sprintf("I need a seat from %s to %s, %s; use the %s card.", from, to, date, card),
		fmt.Sprintf("%s: train %s - %s, paid with %s.", date, from, to, card),
	), []step{
		given("find_train", fields{{"origin", from}, {"dest", to}, {"date", date}}, fields{{"train", train}, {"seat", seat}, {"price", amount}}),
		given("hold_seat", fields{{"train", train}, {"seat", seat}}, fields{{"hold", hold}}),
		given("pay", fields{{"hold", hold}, {"amount", amount}, {"card", card}}, fields{{"paid", true}}),
	}, fmt.Sprintf("Seat %s on %s is paid, hold %s.", seat, train, hold)}
}

func (f *forge) records() task {
	table, key, value := f.stem(), f.stem()+"_id", f.between(1000, 9999999)
	owner, active, row := f.email(), f.IntN(2) == 0, "row:"+f.hex(8)
	state := map[bool]string{true: "active", false: "inactive"}[active]
	return task{f.pick(
		fmt.Sprintf("In %s make entry %d %s, owner %s.", table, value, state, owner),
		fmt.Sprintf("Give %d in table %s to %s and mark it %s.", value, table, owner, state),
		fmt.Sprintf("Mark %d (%s) %s; new owner %s.", value, table, state, owner),
	), []step{
		given("describe", fields{{"table", table}}, fields{{"key", key}}),
		given("lookup", fields{{"table", table}, {"key", key}, {"value", value}}, fields{{"row", row}}),
		given("update", fields{{"row", row}, {"owner", owner}, {"active", active}}, fields{{"ok", true}}),
	}, fmt.Sprintf("%s is %s, owned by %s.", row, state, owner)}
}

func (f *forge) sensors() task {
	device, metric := f.letters(3, lower)+"-"+f.letters(5, upperDigit), f.pick("temp", "load", "flow")
	level, ceiling := f.pick("info", "warn", "page"), decimal(f.between(100, 9999), 10)
	site, fault := fmt.Sprintf("Z%d-%s", f.between(1, 9), f.letters(3, figures)), f.between(100, 99999)
	return task{f.pick(
		fmt.Sprintf("Sample %s of %s, cap it at %s, raise a %s alert.", metric, device, ceiling, level),
		fmt.Sprintf("%s acts up: read %s, limit %s, alert as %s.", device, metric, ceiling, level),
		fmt.Sprintf("Check %s on %s, set max %s and send %s.", metric, device, ceiling, level),
	), []step{
		given("sample", fields{{"device", device}, {"metric", metric}}, fields{{"site", site}, {"code", fault}}),
		given("set_limit", fields{{"device", device}, {"max", ceiling}}, fields{{"set", true}}),
		given("alert", fields{{"site", site}, {"level", level}, {"code", fault}}, fields{{"sent", true}}),
	}, fmt.Sprintf("Alert %d (%s) raised for %s.", fault, level, site)}
}

// declare returns the tools of a family and up to two of others, shuffled.
func (f *forge) declare(family int) []tool {
	families := families()
	all := append([]tool{}, families[family]...)
	var others []tool
	for i, tools := range families {
		if i != family {
			others = append(others, tools...)
		}
	}
	f.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	all = append(all, others[:f.IntN(3)]...)
	f.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// families are the tools of the makers, in their order.
func families() [][]tool {
	text := fields{{"type", "string"}, {"minLength", 1}}
	order := matching("^[A-Z0-9]{3}-[0-9]{4}$")
	return [][]tool{
		{
			takes("find_order", fields{{"order_id", order}, {"region", among("eu", "us", "ap", "sa")}}),
			takes("refund", fields{{"order_id", order}, {"cents", within("integer", 1, 999999)}, {"reason", among("damaged", "late", "wrong_item")}}),
			takes("notify", fields{{"email", text}, {"ref", text}}),
		}, {
			takes("grep", fields{{"text", text}, {"dir", text}}),
			takes("read", fields{{"path", text}, {"line", within("integer", 1, 99999)}}),
			takes("patch", fields{{"path", text}, {"sha", matching("^[0-9a-f]{7}$")}, {"limit", within("integer", 1, 99999)}}),
		}, {
			takes("build", fields{{"service", text}, {"branch", text}}),
			takes("deploy", fields{{"image", text}, {"zone", among("east", "west", "north")}, {"replicas", within("integer", 1, 99)}}),
			takes("check", fields{{"deploy_id", text}, {"timeout_s", within("integer", 1, 9999)}}),
		}, {
			takes("find_train", fields{{"origin", text}, {"dest", text}, {"date", matching("^2027-[0-9]{2}-[0-9]{2}$")}}),
			takes("hold_seat", fields{{"train", text}, {"seat", text}}),
			takes("pay", fields{{"hold", text}, {"amount", within("number", 0, 9999)}, {"card", among("visa", "amex", "debit")}}),
		}, {
			takes("describe", fields{{"table", text}}),
			takes("lookup", fields{{"table", text}, {"key", text}, {"value", within("integer", 1, 9999999)}}),
			takes("update", fields{{"row", text}, {"owner", text}, {"active", fields{{"type", "boolean"}}}}),
		}, {
			takes("sample", fields{{"device", text}, {"metric", among("temp", "load", "flow")}}),
			takes("set_limit", fields{{"device", text}, {"max", within("number", 0, 9999)}}),
			takes("alert", fields{{"site", text}, {"level", among("info", "warn", "page")}, {"code", within("integer", 1, 99999)}}),
		},
	}
}

func takes(name string, params fields) tool {
	t := tool{name: name, doc: strings.ReplaceAll(name, "_", " ")}
	for _, p := range params {
		t.args = append(t.args, arg{name: p.name, schema: p.value})
	}
	return t
}

func within(kind string, low, high int) fields {
	return fields{{"type", kind}, {"minimum", low}, {"maximum", high}}
}

func among(values ...string) fields { return fields{{"type", "string"}, {"enum", values}} }

func matching(pattern string) fields { return fields{{"type", "string"}, {"pattern", pattern}} }
