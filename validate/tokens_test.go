package validate

import (
	"fmt"
	"strings"
	"testing"
)

// TestTokensAreHeldAgainstText: what is told of a turn of text alone, by how
// many tokens the server reports and what is known of the model.
func TestTokensAreHeldAgainstText(t *testing.T) {
	const tools = `,"tools":[{"type":"function","function":{"name":"f"}}]`
	const text = "I will look at the next file." // 12 tokens by the estimate, 29 bytes
	f := func(what, request, message string, rate float64, prompt, tokens int, want string) {
		t.Helper()
		r, err := ParseRequest("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":"Go on with it, please."}]`+request+`}`))
		if err != nil {
			t.Fatal(err)
		}
		r.TokenRate = rate
		c := NewChecker(r, Head{200, "application/json"})
		c.Feed(0, fmt.Appendf(nil, `{"choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"reasoning_tokens":%d,"completion_tokens_details":{"rejected_prediction_tokens":%d}}}`,
			message, prompt, tokens, 20*strings.Count(request, "effort"), 48*strings.Count(request, "prediction")))
		if got := say(c.Finish(Complete)); got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	content := `{"content":"` + text + `"}`
	dutch := `{"content":"` + "Ik kijk nu naar de configuratie van de dienst en start hem daarna opnieuw op. De mislukte toets werd geschreven voor een oudere uitgave van de bibliotheek, dus die werken we eerst bij. Vervolgens draaien alle overige toetsen nogmaals, zodat niemand morgenochtend voor verrassingen komt te staan. Zodra alles slaagt, schrijf ik een korte samenvatting voor het hele ploegje en sluit ik dit verzoek zelf af." + `"}`
	f("few", tools, content, 0, 200, 12, "clean")
	f("many", tools, content, 0, 200, 60, "corrupted swallowed_text")
	f("many that were rejected", tools+`,"prediction":{}`, content, 0, 200, 60, "clean")
	f("Dutch, as models take it that speak English", tools, dutch, 0.8, 2000, 125, "clean")
	f("letters in no order", tools, `{"content":"Here it is: `+strings.Repeat("qzjxkvbwpy", 30)+`"}`, 0.8, 2000, 190, "clean")
	f("more than Dutch ever takes", tools, dutch, 0.8, 2000, 300, "corrupted swallowed_text")
	f("no tools", "", content, 0, 200, 60, "clean")
	f("no call allowed", tools+`,"tool_choice":"none"`, content, 0, 200, 60, "clean")
	f("a token a byte", tools, content, CautiousRate, 200, 33, "clean")
	f("less than a token a byte", tools, content, CautiousRate, 200, 22, "clean suspect")
	f("more than bytes", tools, content, CautiousRate, 200, 60, "corrupted swallowed_text")
	f("parts of words, as the prompt tells", tools, content, CautiousRate, 8, 33, "corrupted swallowed_text")
	f("a model of characters", tools, content, 2.5, 200, 33, "clean")
	f("reasoning that is not sent", tools+`,"reasoning":{"effort":"low"}`, content, 0, 200, 32, "clean")
	f("reasoning that nobody counts", tools+`,"reasoning":{"exclude":true}`, content, 0, 200, 60, "clean suspect")
	f("nothing", tools, `{"content":""}`, 0, 200, 2, "clean")
	f("nothing for much", tools, `{"content":" \n"}`, CautiousRate, 200, 40, "corrupted empty_turn")
	f("reasoning alone", tools, `{"reasoning_content":"`+text+`"}`, 0, 200, 14, "clean suspect")
	f("reasoning alone for much", tools, `{"reasoning_content":"`+text+`"}`, CautiousRate, 200, 60, "corrupted empty_turn")
	f("little more than what is there", tools, content, 0, 200, 20, "clean suspect")
	f("a text that ends the turn", tools+`,"stop":["###"]`, content, 0, 200, 37, "clean")
	f("many beside it", tools+`,"stop":"###"`, content, 0, 200, 60, "corrupted swallowed_text")
	f("nothing but it", tools+`,"stop":["###"]`, `{"content":""}`, 0, 200, 20, "clean")
	f("an expression that ends it", tools+`,"stop_regex":".*done"`, content, 0, 200, 200, "clean")
	f("markers alone", tools, `{"content":""}`, 0, 200, 11, "clean suspect")
	const yes = `{"content":"Yes."}`
	f("a frame that is not seen", tools, yes, 0.5, 200, 13, "corrupted swallowed_text")
	f("the frame of a model", tools+`,"model":"moonshotai/Kimi-K3"`, yes, 0.5, 200, 13, "clean")
	f("more than that", tools+`,"model":"moonshotai/Kimi-K3"`, yes, 0.5, 200, 40, "corrupted swallowed_text")
	f("reasoning in the content, as asked", tools+`,"separate_reasoning":false`, `{"content":"Hm.<|END_THINKING|><|START_TEXT|>It is 42.<|END_TEXT|>"}`, 0, 200, 20, "clean +reasoning_in_content")
	f("reasoning in the content", tools, `{"content":"Hm.<|END_THINKING|><|START_TEXT|>It is 42.<|END_TEXT|>"}`, 0, 200, 20, "corrupted special_token_leak")
	f("reasoning that was asked for and is not there", tools+`,"separate_reasoning":false`, content, 0, 200, 60, "clean suspect")
	f("a refusal is not read", tools, `{"content":null,"refusal":"No."}`, 0, 200, 60, "clean")
}

// TestEmptyArgumentsForManyTokensAreTheParsersFault: it takes what it cannot
// read for an empty object.
func TestEmptyArgumentsForManyTokensAreTheParsersFault(t *testing.T) {
	f := func(tokens int, want Cause) {
		t.Helper()
		body := calls(entry(0, "c", "f", "{}")) + ev(`{}`, "tool_calls") + fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`+"\n\n", tokens) + done
		for _, x := range check(t, offer, body, Complete).Findings {
			if x.Cause != want {
				t.Errorf("%d tokens: %s: got cause %s, want %s", tokens, x.Kind, x.Cause, want)
			}
		}
	}
	f(30, CauseUnknown)
	f(200, CauseParser)
}

// TestVerdictTellsTheBoundsOfTheRequest, and the tokens of reasoning.
func TestVerdictTellsTheBoundsOfTheRequest(t *testing.T) {
	f := func(request string, tokens int64, choices int, thinking int64) {
		t.Helper()
		v := check(t, request, fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":9,"completion_tokens":12,"completion_tokens_details":{"reasoning_tokens":%d}}}`, thinking), Complete)
		if v.MaxTokens != tokens || v.Choices != choices || v.Thinking != thinking {
			t.Errorf("%s: got %d tokens of %d choices, %d of reasoning", request, v.MaxTokens, v.Choices, v.Thinking)
		}
	}
	f(`{"model":"m","max_completion_tokens":64,"n":2}`, 64, 2, 9)
	f(`{"model":"m"}`, 0, 1, 0)
}

func TestKimiK3(t *testing.T) {
	for model, want := range map[string]bool{"moonshotai/Kimi-K3": true, "KIMI-k3-fp8": true, "k3/kimi": true, "kimi-3-k3": true, "kimi-\u212A3": true,
		"": false, "3": false, "k3": false, "kimi": false, "kimi-k2": false, "kimi-v3": false, "Qwen3-K30": false} {
		if got := kimiK3(model); got != want {
			t.Errorf("%q: got %v, want %v", model, got, want)
		}
	}
}
