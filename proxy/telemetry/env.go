package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Environment lists the variables of OpenTelemetry that are obeyed. Those of
// the SDK and its exporters are read by them; the others, which they ignore, by
// us.
func Environment() []string {
	all := []string{
		"OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_PROPAGATORS", "OTEL_SEMCONV_STABILITY_OPT_IN",
		"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG",
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BLRP_EXPORT_TIMEOUT", "OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_METRICS_EXEMPLAR_FILTER",
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT",
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		for _, what := range []string{"ENDPOINT", "PROTOCOL", "HEADERS", "TIMEOUT", "COMPRESSION", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY", "INSECURE"} {
			all = append(all, "OTEL_EXPORTER_OTLP_"+signal+what)
		}
	}
	return all
}

// env is what the variables say that the SDK ignores.
type env struct {
	disabled  bool // OTEL_SDK_DISABLED: nothing is exported
	propagate bool // OTEL_PROPAGATORS holds tracecontext
	latest    bool // OTEL_SEMCONV_STABILITY_OPT_IN: the newer names of the GenAI conventions
	exports   map[string]bool
	protocol  map[string]string

	ratio  float64 // of OTEL_TRACES_SAMPLER; negative: it says none
	parent bool    // the caller's flag counts

	spanQueue, logQueue int
}

// exported are the signals that may be exported, and whether an endpoint alone
// says that they are: records of turns are opted into.
func exported() map[string]bool { return map[string]bool{traces: true, metrics: true, logs: false} }

// CheckEnvironment says which variable makes no sense.
func CheckEnvironment() error {
	_, err := readEnv()
	return err
}

// readEnv reads the variables. The error names the one that makes no sense.
func readEnv() (env, error) {
	e := env{exports: map[string]bool{}, protocol: map[string]string{}, ratio: -1, parent: true,
		disabled: strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"),
		latest:   slices.Contains(words(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN")), "gen_ai_latest_experimental"),
	}
	for _, read := range []func() error{e.readPropagators, e.readExporters, e.readSampler, e.readQueues} {
		if err := read(); err != nil {
			return e, err
		}
	}
	return e, nil
}

func words(list string) (all []string) {
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			all = append(all, w)
		}
	}
	return all
}

// readPropagators: baggage passes by itself, for we change no header.
func (e *env) readPropagators() error {
	all := words(os.Getenv("OTEL_PROPAGATORS"))
	for _, w := range all {
		if !slices.Contains([]string{"tracecontext", "baggage", "none"}, w) {
			return fmt.Errorf("read OTEL_PROPAGATORS: %q is none that is spoken here: write tracecontext, baggage or none", w)
		}
	}
	e.propagate = len(all) == 0 || slices.Contains(all, "tracecontext")
	return nil
}

func (e *env) readExporters() error {
	for signal, byDefault := range exported() {
		name := "OTEL_" + strings.ToUpper(signal) + "_EXPORTER"
		all := words(os.Getenv(name))
		for _, w := range all {
			if !slices.Contains([]string{"otlp", "none", "prometheus"}, w) || w == "prometheus" && signal != metrics {
				return fmt.Errorf("read %s: %q is none that is there: write otlp or none", name, w)
			}
		}
		e.exports[signal] = !e.disabled && (slices.Contains(all, "otlp") || len(all) == 0 && byDefault && os.Getenv(otlp(signal, "ENDPOINT")) != "")
		if err := errors.Join(e.readProtocol(signal), e.readEndpoint(signal)); err != nil {
			return err
		}
	}
	return nil
}

// otlp is the variable of a signal where it is set, else that of all.
func otlp(signal, what string) string {
	if name := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_" + what; os.Getenv(name) != "" {
		return name
	}
	return "OTEL_EXPORTER_OTLP_" + what
}

const (
	overGRPC = "grpc"
	overHTTP = "http/protobuf"
)

func (e *env) readProtocol(signal string) error {
	name := otlp(signal, "PROTOCOL")
	switch p := os.Getenv(name); p {
	case "", overHTTP:
		e.protocol[signal] = overHTTP
	case overGRPC:
		e.protocol[signal] = overGRPC
	default:
		return fmt.Errorf("read %s: %q is not spoken here: write %s or %s", name, p, overGRPC, overHTTP)
	}
	return nil
}

// readEndpoint: over HTTP, one without a scheme would be taken for none.
func (e *env) readEndpoint(signal string) error {
	name := otlp(signal, "ENDPOINT")
	at := os.Getenv(name)
	if at == "" || !e.exports[signal] || e.protocol[signal] == overGRPC {
		return nil
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("read %s: %q is no URL: write http://HOST:PORT or https://HOST:PORT", name, at)
	}
	return nil
}

// readSampler: a sampler speaks for turns that nothing is wrong with, for the
// others are always kept.
func (e *env) readSampler() error {
	name := os.Getenv("OTEL_TRACES_SAMPLER")
	kind, parent := strings.CutPrefix(name, "parentbased_")
	e.parent = parent || name == ""
	switch kind {
	case "":
	case "always_on":
		e.ratio = 1
	case "always_off":
		e.ratio = 0
	case "traceidratio":
		arg := os.Getenv("OTEL_TRACES_SAMPLER_ARG")
		ratio, err := strconv.ParseFloat(arg, 64)
		if arg == "" {
			ratio, err = 1, nil
		}
		if err != nil || !(0 <= ratio && ratio <= 1) {
			return fmt.Errorf("read OTEL_TRACES_SAMPLER_ARG: %q is no share from 0 to 1", arg)
		}
		e.ratio = ratio
	default:
		return fmt.Errorf("read OTEL_TRACES_SAMPLER: %q is none that is there: write always_on, always_off or traceidratio, or one of these after parentbased_", name)
	}
	return nil
}

// readQueues learns how much the SDK's queues take, so that what they would
// drop is not made, and is counted.
func (e *env) readQueues() error {
	for _, q := range []struct {
		name string
		to   *int
	}{{"OTEL_BSP_MAX_QUEUE_SIZE", &e.spanQueue}, {"OTEL_BLRP_MAX_QUEUE_SIZE", &e.logQueue}} {
		*q.to = 2048
		s := os.Getenv(q.name)
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("read %s: %q is no number above 0", q.name, s)
		}
		*q.to = n
	}
	return nil
}
