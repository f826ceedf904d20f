package bench

import (
	"fmt"
	"strings"
)

// textRequest asks with the text in one field.
func textRequest(field string) func(Params, string, string) string {
	return func(p Params, text, _ string) string {
		return fmt.Sprintf(`{"model":"%s","%s":"%s %s","stream":%t}`, model, field, p, text, p.Stream)
	}
}

func messagesRequest(p Params, text, _ string) string {
	return fmt.Sprintf(`{"model":"%s","max_tokens":100000,"messages":[{"role":"user","content":"%s %s"}],"stream":%t}`, model, p, text, p.Stream)
}

// eachWord makes an event of each of n words.
func eachWord(p Params, n int, event func(word string) string) (all []string) {
	w := newWords(p.Seed)
	for range n {
		all = append(all, event(w.next()))
	}
	return all
}

func completionsEvents(p Params) []string {
	const event = `data: {"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","object":"text_completion","created":1795965975,"model":"%s","choices":[{"index":0,"text":"%s","logprobs":null,"finish_reason":%s,"matched_stop":null}],"usage":null}` + "\n\n"
	all := eachWord(p, p.Events-1, func(word string) string { return fmt.Sprintf(event, model, " "+word, "null") })
	return append(all, fmt.Sprintf(event, model, "", `"stop"`))
}

func completionsObject(p Params) string {
	return fmt.Sprintf(`{"id":"f3c2a1b0d9e84c7fa6b5d4c3b2a19088","object":"text_completion","created":1795965975,"model":"%s","choices":[{"index":0,"text":"%s","logprobs":null,"finish_reason":"stop","matched_stop":null}],"usage":{"prompt_tokens":12,"total_tokens":100,"completion_tokens":88}}`,
		model, newWords(p.Seed).text(max(256, p.Size)))
}

// generateEvents hold the text so far, each a little more of it.
func generateEvents(p Params) []string {
	var text strings.Builder
	n := 0
	event := func(finish string) string {
		return fmt.Sprintf(`data: {"text":"%s","output_ids":[7],"meta_info":{"id":"f3c2a1b0","finish_reason":%s,"prompt_tokens":12,"weight_version":"default","completion_tokens":%d,"cached_tokens":0}}`+"\n\n", text.String(), finish, n)
	}
	all := eachWord(p, min(p.Events, 64)-1, func(word string) string {
		text.WriteString(" " + word)
		n++
		return event("null")
	})
	return append(all, event(`{"type":"stop","matched":1}`))
}

func generateObject(p Params) string {
	return fmt.Sprintf(`{"text":"%s","output_ids":[7],"meta_info":{"id":"f3c2a1b0","finish_reason":{"type":"stop","matched":1},"prompt_tokens":12,"completion_tokens":88,"cached_tokens":0}}`,
		newWords(p.Seed).text(max(256, p.Size)))
}

// responsesEvents are one message of text.
func responsesEvents(p Params) (all []string) {
	n := 0
	event := func(kind, rest string) {
		all = append(all, fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d%s}\n\n", kind, kind, n, rest))
		n++
	}
	const response = `{"id":"resp_1","object":"response","created_at":1795965975,"model":"` + model + `","status":"%s","output":[%s]}`
	const item = `{"id":"msg_1","type":"message","role":"assistant","status":"%s","content":[%s]}`
	const at = `,"item_id":"msg_1","output_index":0,"content_index":0`
	event("response.created", `,"response":`+fmt.Sprintf(response, "in_progress", ""))
	event("response.output_item.added", `,"output_index":0,"item":`+fmt.Sprintf(item, "in_progress", ""))
	event("response.content_part.added", at+`,"part":{"type":"output_text","text":"","annotations":[]}`)
	var text strings.Builder
	eachWord(p, p.Events, func(word string) string {
		text.WriteString(" " + word)
		event("response.output_text.delta", fmt.Sprintf(at+`,"delta":" %s"`, word))
		return ""
	})
	part := fmt.Sprintf(`{"type":"output_text","text":"%s","annotations":[]}`, text.String())
	done := fmt.Sprintf(item, "completed", part)
	event("response.output_text.done", at+`,"text":"`+text.String()+`"`)
	event("response.content_part.done", at+`,"part":`+part)
	event("response.output_item.done", `,"output_index":0,"item":`+done)
	event("response.completed", `,"response":`+fmt.Sprintf(response, "completed", done))
	return all
}

func responsesObject(p Params) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1795965975,"model":"%s","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"%s","annotations":[]}]}],"usage":{"input_tokens":12,"output_tokens":88,"total_tokens":100}}`,
		model, newWords(p.Seed).text(max(256, p.Size)))
}

// messagesEvents are one block of text.
func messagesEvents(p Params) []string {
	event := func(kind, rest string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, rest)
	}
	all := []string{
		event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"`+model+`","usage":{"input_tokens":12,"output_tokens":0}}`),
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
	}
	all = append(all, eachWord(p, p.Events, func(word string) string {
		return event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":" %s"}`, word))
	})...)
	return append(all, event("content_block_stop", `,"index":0`),
		event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":88}`), event("message_stop", ""))
}

func messagesObject(p Params) string {
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"%s","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":88}}`,
		model, newWords(p.Seed).text(max(256, p.Size)))
}

// ollamaEvents are lines, not events.
func ollamaEvents(p Params) []string {
	const line = `{"model":"` + model + `","created_at":"2026-11-29T15:26:15Z","message":{"role":"assistant","content":"%s"},"done":%s}` + "\n"
	all := eachWord(p, p.Events-1, func(word string) string { return fmt.Sprintf(line, " "+word, "false") })
	return append(all, fmt.Sprintf(line, "", `true,"done_reason":"stop"`))
}

func ollamaObject(p Params) string {
	return fmt.Sprintf(`{"model":"%s","created_at":"2026-11-29T15:26:15Z","message":{"role":"assistant","content":"%s"},"done":true,"done_reason":"stop"}`,
		model, newWords(p.Seed).text(max(256, p.Size)))
}

// otherEvents are of a protocol that nobody judges.
func otherEvents(p Params) []string {
	return eachWord(p, p.Events, func(word string) string { return "data: " + word + "\n\n" })
}

func otherObject(p Params) string {
	return fmt.Sprintf(`{"object":"list","data":[{"object":"embedding","index":0,"text":"%s"}],"model":"%s"}`, newWords(p.Seed).text(max(256, p.Size)), model)
}
