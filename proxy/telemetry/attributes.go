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

// attributes appends those of a turn's span to a. None holds text of a message or of
// arguments.
func (s *spans) attributes(a attrs, t *turn.Turn, why string) attrs {
	a = append(a, s.server...)
	a.str(AttrOperation, operation(t.Path))
	a.str(KeyModel, t.Model)
	a.positive(AttrMaxTokens, t.MaxTokens)
	if t.Choices > 1 {
		a.positive(AttrChoices, int64(t.Choices))
	}
	if t.Stream {
		a = append(a, attribute.Bool(AttrStream, true), attribute.Float64(AttrFirstChunk, t.TTFBMS/1e3))
	}
	a = append(a, attribute.StringSlice(AttrFinishReasons, finished(t)))
	if t.Usage != nil {
		a = append(a, attribute.Int64(AttrInputTokens, t.Usage.PromptTokens), attribute.Int64(AttrOutputTokens, t.Usage.CompletionTokens))
	}
	a.positive(AttrThinking, t.Thinking)
	a.positive(KeyStatus, int64(t.Status))
	a.str(AttrErrorType, spanError(t))
	a.turn(t)
	a.str(AttrKept, why)
	a.tags(t)
	return a
}

// attrs grows by attributes that have a value.
type attrs []attribute.KeyValue

func (a *attrs) str(key, value string) {
	if value != "" {
		*a = append(*a, attribute.String(key, value))
	}
}

func (a *attrs) positive(key string, n int64) {
	if n > 0 {
		*a = append(*a, attribute.Int64(key, n))
	}
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
	*a = append(*a, attribute.Bool(KeySuspect, t.Suspect), attribute.Int(AttrTurnIndex, t.Number), attribute.Int64(AttrBytesOut, t.BytesOut),
		attribute.Int(AttrCalls, t.Calls), attribute.Int(AttrInvalid, invalidCalls(t)))
	if t.Constrained {
		*a = append(*a, attribute.Bool(AttrConstrained, true))
	}
	names(a, AttrChecks, t.Checks, func(c validate.Check) string { return string(c) })
	names(a, AttrLints, t.Lints, func(l validate.Lint) string { return string(l) })
	names(a, AttrFindings, t.Findings, func(f validate.Finding) string { return string(f.Kind) })
	names(a, AttrSignals, t.Signals, func(s validate.Signal) string { return string(s.Kind) })
}

// names adds a list of names, if there are any.
func names[T any](a *attrs, key string, list []T, name func(T) string) {
	if len(list) == 0 {
		return
	}
	all := make([]string, min(len(list), maxEvents))
	for i := range all {
		all[i] = name(list[i])
	}
	*a = append(*a, attribute.StringSlice(key, all))
}

// tags adds what is known of the server.
func (a *attrs) tags(t *turn.Turn) {
	a.str(KeyFingerprint, t.Fingerprint)
	if b, ok := t.Tags["batch"]; ok {
		*a = append(*a, attribute.String(AttrMetaSource, b.Source), attribute.Float64(AttrMetaAge, float64(b.AgeMS)/1e3),
			attribute.String(KeyBatchRange, batchRange(batchOf(t))))
	}
	for tag, v := range t.Tags {
		if key := measured(tag); key != "" {
			a.number(key, v.Value)
		} else {
			a.str(configKey(tag), v.Value)
		}
	}
}

// measured is the attribute of a tag that is no configuration.
func measured(tag string) string {
	switch tag {
	case "batch":
		return AttrBatch
	case "batch_at_onset":
		return AttrBatchAtOnset
	case "queue_at_head":
		return AttrQueued
	case "graph_bucket":
		return AttrGraphBucket
	case "version":
		return AttrVersion
	case "rid":
		return AttrRID
	case "dp_rank", "batch_at_head", "graph_bucket_at_head", "graph_bucket_at_onset", "retractions", "peers",
		"own_batch_min", "own_batch_mean", "own_batch_max", "own_batch_at_onset":
		return "sglang." + tag
	}
	return ""
}

// number adds a value as the number that it may be.
func (a *attrs) number(key, value string) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && key != AttrRID && key != AttrVersion {
		*a = append(*a, attribute.Int64(key, n))
		return
	}
	a.str(key, value)
}

// finding are the attributes of one. The tool is one that the request declared,
// the pointer tells keys that the tool's schema names.
func finding(f *validate.Finding) []attribute.KeyValue {
	a := attrs{attribute.String(KeyKind, string(f.Kind)), attribute.String(KeySeverity, string(f.Severity)), attribute.String(KeyCause, string(f.Cause)),
		attribute.Int(AttrChoice, f.Choice), attribute.Int64(AttrOffset, f.Offset)}
	if f.Call != nil {
		a = append(a, attribute.Int(AttrCall, *f.Call))
	}
	if f.ArgOffset != nil {
		a = append(a, attribute.Int64(AttrArgOffset, *f.ArgOffset))
	}
	a.str(AttrTool, f.Tool)
	a.str(AttrPointer, f.Path)
	return a
}
