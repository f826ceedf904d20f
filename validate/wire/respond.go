package wire

import "hash/maphash"

func (r *responses) tell(d *Decoder) {
	e := &r.e
	switch string(e.kind.Raw) {
	case "response.created", "response.in_progress", "response.queued":
		d.ev.Counted = false
		d.add(Choice{At: e.at})
	case "response.output_item.added":
		r.added(d)
	case "response.output_item.done":
		n := 0
		if e.item.calls() {
			n = r.place(e.output, e.item.id, e.item.call.ID)
		}
		r.done(d, &e.item, itemDone, n)
	case "response.function_call_arguments.delta":
		if !e.text.Empty() {
			d.addCall(Call{Index: r.grown(), Indexed: true, At: e.at, Args: e.text, Form: ArgsText})
		}
	case "response.function_call_arguments.done":
		d.addCall(Call{Index: r.grown(), Indexed: true, At: e.at, Name: e.name, Args: e.args, Form: e.form, Final: true})
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		r.ended(d)
	case "":
		r.body(d)
	default:
		r.text(d)
	}
	e.bare.tell(&d.ev, known(e.kind, "error", "response.failed"))
}

// text tells of a piece of text, or of a whole one if no pieces came.
func (r *responses) text(d *Decoder) {
	switch string(r.e.kind.Raw) {
	case "response.output_text.delta":
		r.take(d, asContent, pieces, r.e.text)
	case "response.output_text.done":
		r.take(d, asContent, partDone, r.e.text)
	case "response.refusal.delta":
		r.take(d, asRefusal, pieces, r.e.text)
	case "response.refusal.done":
		r.take(d, asRefusal, partDone, r.e.text)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta", "response.reasoning.delta":
		r.take(d, asReasoning, pieces, r.e.text)
	case "response.reasoning_text.done", "response.reasoning_summary_text.done", "response.reasoning.done":
		r.take(d, asReasoning, partDone, r.e.text)
	}
}

// take tells of a text unless the same text came with other events.
func (r *responses) take(d *Decoder, as int, from source, t Text) {
	if r.from[as] == nowhere && !t.Empty() {
		r.from[as] = from
	}
	if r.from[as] != from {
		return
	}
	c := Choice{At: t.At}
	switch as {
	case asContent:
		c.Content = t
	case asReasoning:
		c.Reasoning = t
	case asRefusal:
		c.Refusal = t
	}
	d.add(c)
}

// added tells of an item that begins.
func (r *responses) added(d *Decoder) {
	it := &r.e.item
	if !it.calls() {
		d.strange(!it.kind.Is("message") && !it.kind.Is("reasoning") && !it.served())
		d.add(Choice{At: it.at, Parts: it.served()})
		return
	}
	k := it.call
	k.Index, k.Indexed, k.Draft = r.begin(it), true, !k.Args.Empty()
	if k.Args.Empty() {
		k.Form = ArgsAbsent
	}
	d.addCall(k)
}

// done tells of an item that is complete; n is the place of its call, if it is one.
func (r *responses) done(d *Decoder, it *item, from source, n int) {
	switch {
	case it.calls():
		k := it.call
		k.Index, k.Indexed, k.Final = n, true, from != nowhere
		d.addCall(k)
	case it.served(), it.sealed && it.n == 0:
		d.add(Choice{At: it.at, Parts: true})
	case it.kind.Is("message"), it.kind.Is("reasoning"):
		for _, p := range r.parts[it.from : it.from+it.n] {
			r.take(d, p.as(), from, p.text)
		}
	default:
		d.strange(true)
	}
}

// as says what the text of a part is.
func (p *part) as() int {
	switch {
	case p.kind.Is("refusal"):
		return asRefusal
	case known(p.kind, "reasoning_text", "summary_text"):
		return asReasoning
	}
	return asContent
}

// calls reports whether an item is a call that the client is to carry out.
// Other calls than those of functions are told by their type.
func (it *item) calls() bool {
	if known(it.kind, "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call") {
		it.call.Type, it.call.Args, it.call.Form = it.kind, Text{}, ArgsAbsent
		return true
	}
	return it.kind.Is("function_call")
}

// served reports whether an item concerns no tool of the client: what the
// server called itself.
func (it *item) served() bool {
	return known(it.kind, "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"mcp_call", "mcp_list_tools", "mcp_approval_request", "compaction")
}

// ended tells of the event that ends a stream, with all the output once more.
func (r *responses) ended(d *Decoder) {
	e, n, all := &r.e, 0, 0
	for i := range r.items {
		if r.items[i].calls() {
			all++
		}
	}
	aligned := all == len(r.calls)
	for i := range r.items {
		it, place := &r.items[i], 0
		if it.calls() {
			place = r.nth(n, it, aligned)
			n++
		}
		r.done(d, it, allDone, place)
	}
	word := e.kind
	word.Raw, word.At = word.Raw[len("response."):], word.At+len("response.")
	d.add(Choice{At: e.at, Finish: e.reason(word)})
	d.ev.Done = true
}

// reason is the reason for which a response is over, and is what its status
// says unless it says more.
func (e *responseEvent) reason(status Text) Text {
	if !e.cause.Empty() && !status.Is("completed") {
		return e.cause
	}
	return status
}

// body tells of a response that does not stream.
func (r *responses) body(d *Decoder) {
	if !r.e.listed {
		return
	}
	d.strange(known(r.e.status, "queued", "in_progress"))
	for i := range r.items {
		r.done(d, &r.items[i], nowhere, i)
	}
	d.add(Choice{At: r.e.at, Finish: r.e.reason(r.e.status)})
}

// handle is what is known of a call: servers name it by the place of its item,
// by the item's id or by its own.
type handle struct {
	output   int
	item, id uint64 // hashes, 0 if there is none
}

func (r *responses) hash(t Text) uint64 {
	if t.Empty() {
		return 0
	}
	return maphash.Bytes(r.seed, t.Raw)
}

// begin is the place among the calls of an item that begins. A second item in
// one place collides with the first.
func (r *responses) begin(it *item) int {
	for i := range r.calls {
		if r.e.output >= 0 && r.calls[i].output == r.e.output {
			return i
		}
	}
	return r.open(r.e.output, r.hash(it.id), r.hash(it.call.ID))
}

func (r *responses) open(output int, item, id uint64) int {
	if len(r.calls) < maxSlots {
		r.calls = append(r.calls, handle{output, item, id})
	}
	return len(r.calls) - 1
}

// grown is the place of the call whose arguments the event brings.
func (r *responses) grown() int { return r.place(r.e.output, r.e.itemID, Text{}) }

// place is the place of a call among the calls: of the latest one that fits best.
func (r *responses) place(output int, itemID, callID Text) int {
	item, id := r.hash(itemID), r.hash(callID)
	best, found := 0, -1
	for i := len(r.calls) - 1; i >= 0; i-- {
		if fits := r.calls[i].fits(output, item, id); fits > best {
			best, found = fits, i
		}
		if best == exactly {
			break
		}
	}
	if found >= 0 {
		return found
	}
	return r.open(output, item, id)
}

// exactly is how well a call fits that has both place and id.
const exactly = 4

// fits says how well a call fits what is known of one, 0 if it does not.
func (h *handle) fits(output int, item, id uint64) int {
	there := output >= 0 && h.output == output
	switch {
	case there && (id == 0 || h.id == 0 || h.id == id):
		return exactly
	case id != 0 && h.id == id:
		return 3
	case there:
		return 2
	case item != 0 && h.item == item:
		return 1
	}
	return 0
}

// nth is the place of a call that is the nth in the list of all output. Some
// servers make up an id each time they tell of a call: where the list is as
// long as what came before, its order says which is which.
func (r *responses) nth(n int, it *item, aligned bool) int {
	id := r.hash(it.call.ID)
	if n < len(r.calls) && (r.calls[n].id == id || r.calls[n].id == 0) {
		return n
	}
	for i := range r.calls {
		if id != 0 && r.calls[i].id == id {
			return i
		}
	}
	if aligned {
		return n
	}
	return r.place(-1, it.id, it.call.ID)
}
