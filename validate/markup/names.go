package markup

import "bytes"

// form is how a marker is built.
type form uint8

const (
	sentinel form = iota // <|name|>
	tag                  // <name>
	assigned             // <name=value>
	bracket              // [NAME]
	words                // to=functions.name
)

// term is what a name means.
type term struct {
	family Family
	class  Class
	weak   bool // ordinary text has it too
}

// known finds the meaning of the name between bars. The name is in lower case.
func known(name []byte) (term, bool) {
	switch string(name) {
	case "im_start", "im_end", "im_sep", "endoftext", "endofprompt", "fim_prefix", "fim_suffix", "fim_middle", "fim_pad",
		"repo_name", "file_sep", "object_ref_start", "object_ref_end", "box_start", "box_end", "vision_start", "vision_end":
		return term{family: ChatML, class: Template}, true
	case "eot_id", "eom_id", "start_header_id", "end_header_id", "begin_of_text", "end_of_text", "eot", "eom", "header_start", "header_end":
		return term{family: Llama, class: Template}, true
	case "python_tag", "python_start", "python_end":
		return term{family: Llama, class: Tool}, true
	case "begin_of_sentence", "end_of_sentence", "user", "assistant", "latest_reminder", "search_begin", "search_end":
		return term{family: DeepSeek, class: Template}, true
	case "tool_calls_begin", "tool_calls_end", "tool_sep", "tool_output_begin", "tool_output_end", "tool_outputs_begin", "tool_outputs_end":
		return term{family: DeepSeek, class: Tool}, true
	case "tool_calls_section_begin", "tool_calls_section_end", "tool_call_section_begin", "tool_call_section_end",
		"tool_call_begin", "tool_call_argument_begin":
		return term{family: Kimi, class: Tool}, true
	case "open", "close", "sep", "end_of_msg":
		return term{family: Kimi3, class: Channel}, true
	case "im_user", "im_assistant", "im_system", "im_middle":
		return term{family: Kimi, class: Template}, true
	}
	return channels(name)
}

func channels(name []byte) (term, bool) {
	switch string(name) {
	case "start", "end", "message", "channel", "return", "startoftext":
		return term{family: Harmony, class: Channel}, true
	case "call", "constrain":
		return term{family: Harmony, class: Tool}, true
	case "start_action", "end_action", "start_tool_result", "end_tool_result":
		return term{family: Cohere, class: Tool}, true
	case "start_thinking", "end_thinking", "start_text", "end_text", "start_response", "end_response",
		"start_of_turn_token", "end_of_turn_token", "chatbot_token", "user_token", "system_token":
		return term{family: Cohere, class: Channel}, true
	case "action_start", "action_end", "plugin", "interpreter":
		return term{family: Intern, class: Tool}, true
	case "tool_call_start", "tool_call_end", "tool_list_start", "tool_list_end", "tool_response_start", "tool_response_end":
		return term{family: LFM, class: Tool}, true
	case "tools_prefix", "tools_suffix":
		return term{family: Apertus, class: Tool}, true
	case "inner_prefix", "inner_suffix", "assistant_start", "assistant_end", "user_start", "user_end", "system_start", "system_end":
		return term{family: Apertus, class: Channel}, true
	case "function_call", "role_sep", "message_sep":
		return term{family: GigaChat, class: Tool}, true
	case "content_invoke_tool_json":
		return term{family: Inkling, class: Tool}, true
	case "message_model", "end_message", "content_thinking", "content_text", "content_model_end_sampling":
		return term{family: Inkling, class: Channel}, true
	case "tool_call", "tool", "tool_response", `"`:
		return term{family: Gemma, class: Tool}, true
	case "turn", "think":
		return term{family: Gemma, class: Channel}, true
	}
	return term{}, false
}

// generic is the meaning of an unknown name between bars.
func generic(name []byte) (term, bool) {
	letters := 0
	for _, b := range name {
		if b >= 'a' && b <= 'z' {
			letters++
		}
	}
	if letters < 2 {
		return term{}, false
	}
	for _, w := range [...]string{"tool", "call", "func", "invoke", "action", "plugin", "python", "param", "arg"} {
		if bytes.Contains(name, []byte(w)) {
			return term{class: Tool}, true
		}
	}
	return term{class: Template}, true
}

// half finds the meaning of a name with a bar on one side only.
func half(name []byte) (term, bool) {
	switch string(name) {
	case "tool_call", "tool", "tool_response", `"`:
		return term{family: Gemma, class: Tool}, true
	case "channel", "turn":
		return term{family: Gemma, class: Channel}, true
	}
	if t, ok := known(name); ok && bytes.IndexByte(name, '_') > 0 {
		return t, true
	}
	return term{}, false
}

// element finds the meaning of a tag's name.
func element(name []byte) (term, bool) {
	switch string(name) {
	case "tool_call", "tool_calls", "toolcall", "arg_key", "arg_value", "tool_sep", "tool_response", "function_call", "function_calls":
		return term{family: ToolCall, class: Tool}, true
	case "invoke", "parameter", "function", "param":
		return term{family: Invoke, class: Tool, weak: true}, true
	case "minimax:tool_call":
		return term{family: MiniMax, class: Tool}, true
	case "steptml:invoke", "steptml:parameter", "steptml:toolcall":
		return term{family: Step, class: Tool}, true
	case "dots_function_call":
		return term{family: Dots, class: Tool}, true
	case "cofl:tool_calls":
		return term{family: Cohere, class: Tool}, true
	case "start_of_turn", "end_of_turn":
		return term{family: Gemma, class: Template}, true
	case "think", "thinking", "thought", "mm:think", "seed:think":
		return term{family: Think, class: Thinking}, true
	case "s", "eos", "bos", "pad", "unk", "eop", "eod", "eot":
		return term{family: Sentence, class: Template, weak: true}, true
	}
	for _, end := range [...]string{"_tool_call", "_tool_calls", "_function_call", "_function_calls", "_arg_key", "_arg_value"} {
		if len(name) > len(end) && string(name[len(name)-len(end):]) == end {
			return term{class: Tool}, true
		}
	}
	if i := bytes.IndexByte(name, ':'); i > 0 {
		switch string(name[i+1:]) {
		case "function_calls", "tool_call", "tool_calls":
			return term{family: Muse, class: Tool}, true
		case "invoke", "parameter": // languages of processes have both
			return term{family: Muse, class: Tool, weak: string(name[:i]) != "atem"}, true
		}
	}
	return term{}, false
}

// isParameter reports whether an element of this name is a call's parameter,
// which may be called as a tool is.
func isParameter(name []byte) bool {
	return bytes.HasSuffix(name, []byte("parameter")) || string(name) == "param"
}

// misspelt reports whether one edit makes the name of an element that has the
// name of the tool for an attribute.
func misspelt(name []byte) bool {
	return oneEdit(name, "function") || oneEdit(name, "invoke")
}

// oneEdit reports whether a name becomes another one by one letter that is
// lost, added or replaced.
func oneEdit(name []byte, word string) bool {
	front, back, short := 0, 0, min(len(name), len(word))
	for front < short && name[front] == word[front] {
		front++
	}
	for back < short-front && name[len(name)-1-back] == word[len(word)-1-back] {
		back++
	}
	return front+back >= max(len(name), len(word))-1
}

// begins reports whether a marker begins a part of a conversation.
func begins(name []byte, r Role) bool {
	switch string(name) {
	case "user", "assistant", "system":
		return true
	}
	return r == Opener && !bytes.HasPrefix(name, []byte("end"))
}

// inBrackets finds the meaning of a word in square brackets.
func inBrackets(name []byte) (term, bool) {
	switch string(name) {
	case "TOOL_CALLS", "TOOL_RESULTS", "/TOOL_RESULTS", "AVAILABLE_TOOLS", "/AVAILABLE_TOOLS":
		return term{family: Mistral, class: Tool}, true
	case "ARGS", "CALL_ID", "TOOL_CONTENT":
		return term{family: Mistral, class: Tool, weak: true}, true
	case "INST", "/INST":
		return term{family: Mistral, class: Template}, true
	case "SYSTEM_PROMPT", "/SYSTEM_PROMPT", "EOS", "EOT":
		return term{family: Mistral, class: Template, weak: true}, true
	case "THINK", "/THINK":
		return term{family: Think, class: Thinking}, true
	}
	return term{}, false
}

// begun finds the meaning of a name that the end of the text cut off.
func begun(name []byte, bars bool) (term, bool) {
	if !bars {
		for _, full := range [...]string{"tool_call", "tool_calls", "arg_key", "arg_value", "tool_sep", "minimax:tool_call", "dots_function_call", "function_calls"} {
			if len(name) >= 4 && len(name) < len(full) && full[:len(name)] == string(name) {
				return element([]byte(full))
			}
		}
		return term{}, false
	}
	for _, full := range [...]string{"dsml", "gcml", "im_start", "im_end", "endoftext", "tool_calls_begin", "tool_call_end", "tool_sep", "begin_of_sentence", "end_of_sentence",
		"channel", "message", "constrain", "return", "python_tag", "eot_id", "start_header_id", "function_call", "action_start", "tools_prefix", "start_action", "assistant", "user"} {
		if len(name) >= 3 && len(name) < len(full) && full[:len(name)] == string(name) {
			if lang := language([]byte(full)); lang != Other {
				return term{family: lang, class: Tool}, true
			}
			return known([]byte(full))
		}
	}
	return term{}, false
}

// role tells openers and closers between bars by their names, and the stem
// that the two of a pair have in common.
func role(name []byte) (Role, uint32) {
	switch string(name) {
	case "eot_id", "eom_id", "eot", "eom", "end_of_msg", "end_of_sentence", "end_of_text", "endoftext", "end_of_turn_token", "return", "call", "sep", "open", "close":
		return Control, 0
	}
	for _, w := range [...]string{"start", "begin", "prefix"} {
		if i := bytes.Index(name, []byte(w)); i >= 0 {
			return Opener, stem(name[:i], name[i+len(w):])
		}
	}
	for _, w := range [...]string{"end", "suffix"} {
		if i := bytes.Index(name, []byte(w)); i >= 0 {
			return Closer, stem(name[:i], name[i+len(w):])
		}
	}
	return Control, 0
}

// stem hashes a name from its two sides, underscores left out.
func stem(a, b []byte) uint32 {
	h := uint32(2166136261)
	for _, s := range [...][]byte{a, b} {
		for _, c := range s {
			if c != '_' {
				h = (h ^ uint32(c)) * 16777619
			}
		}
	}
	return h
}
