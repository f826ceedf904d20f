package opinion

import (
	"encoding/json"
	"math"
	"strings"
)

// Sampling is how a request had its tokens drawn.
type Sampling struct {
	Temperature float64 // 0: the most probable token is taken
	TopK        int     // 0: no limit
	TopP        float64 // 1: no limit
	MinP        float64 // 0: no limit
	// Shift is by how much penalties and biases may have moved a token against another, in nats.
	Shift float64
	// Moves tells of what moves tokens by amounts that are not known.
	Moves bool
	// Grammar tells that the request itself asks for one.
	Grammar bool
	Choices int
	// Other names what else makes scores of another model, or of another prompt, than the
	// turn's: empty for nothing.
	Other string
	// Stated tells that the request states a temperature.
	Stated bool
}

// fields are what requests of all dialects say of sampling.
type fields struct {
	Temperature, TopP, MinP                  *float64
	TopK                                     *int
	FrequencyPenalty, PresencePenalty        float64
	RepetitionPenalty, RepeatPenalty         *float64
	LogitBias                                map[string]float64
	N, BestOf                                *int
	MinTokens, MinNewTokens                  *int
	CustomLogitProcessor, LoraPath           json.RawMessage
	ImageData, AudioData, VideoData          json.RawMessage
	InputEmbeds                              json.RawMessage
	ResponseFormat, Format, Text             json.RawMessage
	Regex, EBNF, JSONSchema, GuidedJSON      json.RawMessage
	StructuralTag, GuidedRegex, GuidedChoice json.RawMessage
	IgnoreEOS                                bool
}

// ReadSampling reads what the request to a path says of sampling. Names are those of
// OpenAI, SGLang, Anthropic and Ollama, which agree where they overlap.
func ReadSampling(path string, body []byte) (Sampling, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return Sampling{}, err
	}
	switch {
	case strings.HasSuffix(path, "/generate") && path != "/api/generate":
		nest(top, "sampling_params")
	case strings.HasPrefix(path, "/api/"):
		nest(top, "options")
	}
	f, err := gather(top)
	if err != nil {
		return Sampling{}, err
	}
	return f.sampling(), nil
}

// nest lays the fields of an object within over those around it.
func nest(top map[string]json.RawMessage, name string) {
	var in map[string]json.RawMessage
	if json.Unmarshal(top[name], &in) == nil {
		for k, v := range in {
			top[k] = v
		}
	}
}

// gather reads fields by name, however they are written.
func gather(top map[string]json.RawMessage) (f fields, err error) {
	plain := make(map[string]json.RawMessage, len(top))
	for k, v := range top {
		plain[strings.ReplaceAll(k, "_", "")] = v
	}
	b, err := json.Marshal(plain)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	return f, err
}

func (f *fields) sampling() Sampling {
	s := Sampling{Temperature: 1, TopP: 1, Choices: 1, Shift: f.shift(), Moves: f.moves(), Grammar: f.grammar(), Other: f.other()}
	if s.Stated = f.Temperature != nil; s.Stated {
		s.Temperature = max(*f.Temperature, 0)
	}
	set(&s.TopP, f.TopP)
	set(&s.MinP, f.MinP)
	set(&s.TopK, f.TopK)
	set(&s.Choices, f.N)
	if f.BestOf != nil {
		s.Choices = max(s.Choices, *f.BestOf)
	}
	if s.TopK == 1 || s.TopP == 0 && f.TopP != nil {
		s.Temperature = 0
	}
	s.TopK = max(s.TopK, 0) // -1 is none, too
	return s
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// manyRepeats is how often one token may have been said, for the penalty that it then has.
const manyRepeats = 64

// shift adds up the most that penalties and biases move tokens by.
func (f *fields) shift() float64 {
	most, least := 0.0, 0.0
	for _, b := range f.LogitBias {
		most, least = max(most, b), min(least, b)
	}
	return most - least + math.Abs(f.PresencePenalty) + manyRepeats*math.Abs(f.FrequencyPenalty)
}

func (f *fields) moves() bool {
	penalised := func(p *float64) bool { return p != nil && *p != 1 }
	forced := func(n *int) bool { return n != nil && *n > 0 }
	return penalised(f.RepetitionPenalty) || penalised(f.RepeatPenalty) || there(f.CustomLogitProcessor) ||
		forced(f.MinTokens) || forced(f.MinNewTokens) || f.IgnoreEOS
}

func (f *fields) grammar() bool {
	var format struct{ Type string }
	plain := json.Unmarshal(f.ResponseFormat, &format) == nil && format.Type == "text"
	for _, g := range []json.RawMessage{f.Regex, f.EBNF, f.JSONSchema, f.StructuralTag, f.GuidedJSON, f.GuidedRegex, f.GuidedChoice, f.Format} {
		if there(g) {
			return true
		}
	}
	var text struct{ Format struct{ Type string } } // of responses; the prompt, elsewhere
	json.Unmarshal(f.Text, &text)
	return there(f.ResponseFormat) && !plain || text.Format.Type != "" && text.Format.Type != "text"
}

func (f *fields) other() string {
	for _, m := range []json.RawMessage{f.ImageData, f.AudioData, f.VideoData, f.InputEmbeds} {
		if there(m) {
			return "media"
		}
	}
	if there(f.LoraPath) {
		return "lora"
	}
	return ""
}

// there reports whether a field has a value.
func there(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}", "false":
		return false
	}
	return true
}
