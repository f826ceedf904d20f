package telemetry

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// operation is what the GenAI conventions call what a path does.
func operation(path string) string {
	switch path {
	case "/v1/completions", "/generate", "/vertex_generate", "/api/generate":
		return "text_completion"
	}
	return "chat"
}

// server names the server behind us.
func server(provider, upstream string) []attribute.KeyValue {
	kv := []attribute.KeyValue{attribute.String(AttrProvider, or(provider, "sglang"))}
	u, err := url.Parse(upstream)
	switch {
	case err != nil || upstream == "":
		return kv
	case u.Scheme == "unix":
		return append(kv, attribute.String(AttrServerAddress, strings.TrimPrefix(upstream, "unix:")))
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if _, p, err := net.SplitHostPort(u.Host); err == nil {
		port = p
	}
	n, _ := strconv.Atoi(port)
	return append(kv, attribute.String(AttrServerAddress, u.Hostname()), attribute.Int(AttrServerPort, n))
}

// attributes adds those of a turn's span. None holds text of a message or of
// arguments: content may.
func (s *spans) attributes(a *attrs, t *turn.Turn, why string) {
	for _, kv := range s.server {
		a.known(kv)
	}
	a.str(AttrOperation, operation(t.Path))
	a.str(KeyModel, t.Model)
	a.positive(AttrMaxTokens, t.MaxTokens)
	if t.Choices > 1 {
		a.positive(AttrChoices, int64(t.Choices))
	}
	if t.Stream {
		a.yes(AttrStream, true)
		a.double(AttrFirstChunk, t.TTFBMS/1e3)
	}
	array(a, AttrFinishReasons, finished(t), itself)
	if t.Usage != nil {
		a.number("", AttrInputTokens, t.Usage.PromptTokens)
		a.number("", AttrOutputTokens, t.Usage.CompletionTokens)
	}
	a.positive(AttrThinking, t.Thinking)
	a.positive(KeyStatus, int64(t.Status))
	a.str(AttrErrorType, spanError(t))
	a.turn(t)
	a.str(AttrKept, why)
	a.tags(t)
}

// finished tells why each choice ended. A stream that broke off did for an
// error.
func finished(t *turn.Turn) []string {
	if len(t.FinishReasons) == 0 && t.Ending != validate.Complete {
		return []string{"error"}
	}
	return t.FinishReasons
}

// spanError is why the turn failed: as errorType has it, else the first kind of
// its corruption.
func spanError(t *turn.Turn) string {
	if e := errorType(t); e != "" {
		return e
	}
	if t.Outcome == validate.Corrupted && len(t.Findings) > 0 {
		return string(t.Findings[0].Kind)
	}
	return ""
}

func (a *attrs) turn(t *turn.Turn) {
	a.str(AttrTurnID, t.ID)
	a.str(AttrRequestID, t.RequestID)
	a.str(AttrSession, t.Session)
	a.str(AttrConversation, t.Conversation)
	a.str(KeyArm, string(t.Arm))
	a.str(KeyVerdict, string(t.Outcome))
	a.str(AttrReason, string(t.Reason))
	a.str(AttrEnding, string(t.Ending))
	a.yes(KeySuspect, t.Suspect)
	a.number("", AttrTurnIndex, int64(t.Number))
	a.number("", AttrBytesOut, t.BytesOut)
	a.number("", AttrCalls, int64(t.Calls))
	a.number("", AttrInvalid, int64(invalidCalls(t)))
	if t.Constrained {
		a.yes(AttrConstrained, true)
	}
	names(a, AttrChecks, t.Checks, itself)
	names(a, AttrLints, t.Lints, itself)
	names(a, AttrFindings, t.Findings, func(f *validate.Finding) validate.Kind { return f.Kind })
	names(a, AttrSignals, t.Signals, func(s *validate.Signal) validate.Kind { return s.Kind })
}

// names adds a list of names, if there are any.
func names[T any, N ~string](a *attrs, key string, all []T, name func(*T) N) {
	if len(all) > 0 {
		array(a, key, all, name)
	}
}

func itself[N ~string](name *N) N { return *name }

// tags adds what is known of the server. No tag takes the key of the
// fingerprint.
func (a *attrs) tags(t *turn.Turn) {
	a.str(KeyFingerprint, t.Fingerprint)
	if b, ok := t.Tag("batch"); ok {
		a.text("", AttrMetaSource, b.Source)
		a.double(AttrMetaAge, float64(b.AgeMS)/1e3)
		n, _ := batchOf(t)
		a.text("", KeyBatchRange, rangeOf(n).String())
	}
	for tag, v := range t.AllTags() {
		prefix, key := measured(tag)
		switch {
		case key == "" && tag != "fingerprint" && v.Value != "":
			a.text(configPrefix, tag, v.Value)
		case key != "":
			a.measured(prefix, key, v.Value)
		}
	}
}

// measured is the attribute of a tag that is no configuration, in two parts.
func measured(tag string) (prefix, key string) {
	switch tag {
	case "batch":
		return "", AttrBatch
	case "batch_at_onset":
		return "", AttrBatchAtOnset
	case "queue_at_head":
		return "", AttrQueued
	case "graph_bucket":
		return "", AttrGraphBucket
	case "version":
		return "", AttrVersion
	case "rid":
		return "", AttrRID
	case "dp_rank", "batch_at_head", "graph_bucket_at_head", "graph_bucket_at_onset", "retractions", "peers",
		"own_batch_min", "own_batch_mean", "own_batch_max", "own_batch_at_onset":
		return "sglang.", tag
	}
	return "", ""
}

// measured adds a value as the number that it may be.
func (a *attrs) measured(prefix, key, value string) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && key != AttrRID && key != AttrVersion {
		a.number(prefix, key, n)
	} else if value != "" {
		a.text(prefix, key, value)
	}
}

// finding adds the attributes of one. The tool is one that the request declared,
// the pointer tells keys that the tool's schema names.
func (a *attrs) finding(f *validate.Finding) {
	a.text("", KeyKind, string(f.Kind))
	a.text("", KeySeverity, string(f.Severity))
	a.text("", KeyCause, string(f.Cause))
	a.number("", AttrChoice, int64(f.Choice))
	a.number("", AttrOffset, f.Offset)
	if f.Call != nil {
		a.number("", AttrCall, int64(*f.Call))
	}
	if f.ArgOffset != nil {
		a.number("", AttrArgOffset, *f.ArgOffset)
	}
	a.str(AttrTool, f.Tool)
	a.str(AttrPointer, f.Path)
}
