package main

import "fmt"

// on is what every query of ours selects by.
const on = `job=~"$job",instance=~"$instance"`

// byModel is the same for series of turns.
const byModel = on + `,gen_ai_request_model=~"$model"`

// byArm is the same for one arm or some.
const byArm = byModel + `,turnwatch_arm=~"$arm"`

// of a rate: bad turns, and judged ones. What a known fault of the parser spoiled
// is in neither.
const (
	bad    = `turnwatch_verdict="corrupted",turnwatch_cause!="parser"`
	judged = `turnwatch_verdict=~"clean|corrupted",turnwatch_cause!="parser"`
)

// rate is the sum of a counter's rates by some labels.
func rate(by, metric, selectors string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[$__rate_interval]))", by, metric, selectors)
}

// ranged is the sum of a counter's increases over what the dashboard shows.
func ranged(metric, selectors string) string {
	return fmt.Sprintf("sum (increase(%s{%s}[$__range]))", metric, selectors)
}

// share is the share of corrupted turns by some labels.
func share(by string) string {
	return rate(by, "turnwatch_turns_total", byArm+","+bad) + "\n/\n(" + rate(by, "turnwatch_turns_total", byArm+","+judged) + " > 0)"
}

// or0 holds a ratio of nothing to be nothing.
func or0(of, all string) string { return of + "\n/\n(" + all + " > 0)\nor vector(0)" }

// quantile is a quantile of a histogram by some labels.
func quantile(q, by, metric, selectors string) string {
	return fmt.Sprintf("histogram_quantile(%s, sum by (%s, le) (rate(%s_bucket{%s}[$__rate_interval])))", q, by, metric, selectors)
}

// bucket is a histogram over time.
func bucket(metric, selectors string) string {
	return fmt.Sprintf("sum by (le) (increase(%s_bucket{%s}[$__rate_interval]))", metric, selectors)
}

// running is SGLang's own number, as old and new releases spell it.
const running = `sum({__name__=~"sglang[:_]num_running_reqs",job=~"$sglang_job"})`

func limit(v float64) *float64 { return &v }

func dashboards() []board { return []board{corruption(), arms(), health()} }

func corruption() board {
	return board{uid: "turnwatch", title: "turnwatch: corruption",
		help: "Which turns of the model are corrupted, and what it goes with: batch, configuration, CUDA graphs.",
		rows: []row{corruptionNow(), corruptionTurns(), corruptionBatch(), corruptionConfiguration(), corruptionEvidence(), corruptionTraffic()}}
}

func corruptionNow() row {
	turns := func(more string) string { return ranged("turnwatch_turns_total", byArm+more) }
	sessions := func(more string) string { return ranged("turnwatch_sessions_total", byArm+more) }
	return row{"Now, over the time shown", 4, []panel{
		{title: "Corrupted turns, share", shape: number, unit: "percentunit", bad: limit(0.001), help: "Of judged turns. The objective is one in a thousand.",
			queries: []query{{or0(turns(","+bad), turns(","+judged)), "", false}}},
		{title: "Corrupted turns", shape: number, unit: "short", bad: limit(1), help: "A healthy server makes none.",
			queries: []query{{turns("," + bad), "", false}}},
		{title: "Corrupted sessions, share", shape: number, unit: "percentunit", bad: limit(0.01), help: "A session counts once: at its first corrupted turn, or when it is over.",
			queries: []query{{or0(sessions(","+bad), sessions(","+judged)), "", false}}},
		{title: "Judged", shape: number, unit: "percentunit", help: "Share of turns that could be judged. What could not is never called clean.",
			queries: []query{{"1 - (" + turns(`,turnwatch_verdict="unverified"`) + "\n/\n(" + turns("") + " > 0))", "", false}}},
		{title: "Alarms", shape: number, unit: "short", bad: limit(1), help: "Times that corrupted sessions came faster than chance allows once in -alarm-spacing.",
			queries: []query{{ranged("turnwatch_alarms_total", byModel) + "\nor vector(0)", "", false}}},
		{title: "Turns", shape: number, unit: "short", help: "All turns, of whatever verdict.",
			queries: []query{{turns(""), "", false}}},
	}}
}

func corruptionTurns() row {
	return row{"Over time", 8, []panel{
		{title: "Corrupted turns by model", unit: "reqps", points: true, right: "running (SGLang)",
			help: "The diamonds are exemplars: each leads to the span of a corrupted turn. The dashed line is what SGLang says it runs at the time.",
			queries: []query{
				{rate("gen_ai_request_model", "turnwatch_turns_total", byArm+","+bad), "{{gen_ai_request_model}}", true},
				{running, "running (SGLang)", false}}},
		{title: "Findings by kind", unit: "reqps", points: true, help: "A corrupted turn has one finding or more. One kind alone is rather a parser, many at once rather memory.",
			queries: []query{{rate("turnwatch_finding_kind", "turnwatch_findings_total", byArm) + " > 0\nor\n" + rate("", "turnwatch_findings_total", byArm),
				"{{turnwatch_finding_kind}}", false}}},
	}}
}

func corruptionBatch() row {
	heats := func(verdict string) []query {
		return []query{{bucket("turnwatch_batch_running", byArm+`,turnwatch_verdict="`+verdict+`"`), "{{le}}", false}}
	}
	return row{"What it goes with: the batch", 8, []panel{
		{title: "Corrupted, by batch range", unit: "percentunit", points: true,
			help:    "Share of corrupted turns among those whose largest batch was in the range. Rising with the batch: rows get mixed. Level: a bad model or parser.",
			queries: []query{{share("turnwatch_batch_range"), "batch {{turnwatch_batch_range}}", false}}},
		{title: "Batches of clean turns", shape: heat, unit: "short", help: "Largest batch that a turn was decoded in.", queries: heats("clean")},
		{title: "Batches of corrupted turns", shape: heat, unit: "short", help: "The same for corrupted turns. Compare where the colour is.", queries: heats("corrupted")},
	}}
}

func corruptionConfiguration() row {
	info := `* on (job, instance, sglang_config_fingerprint) group_left (sglang_config_cuda_graph) turnwatch_config_info{` + on + `}`
	graph := func(more string) string {
		return "sum by (sglang_config_cuda_graph) (\n" + rate("job, instance, sglang_config_fingerprint", "turnwatch_turns_total", byArm+","+more) + "\n" + info + "\n)"
	}
	return row{"What it goes with: the configuration", 8, []panel{
		{title: "Corrupted, by configuration", unit: "percentunit", points: true, help: "Share of corrupted turns by fingerprint. The table beside says what is behind each.",
			queries: []query{{share("sglang_config_fingerprint"), "{{sglang_config_fingerprint}}", false}}},
		{title: "Corrupted, by CUDA graph", unit: "percentunit", points: true, help: "Share of corrupted turns with CUDA graphs and without.",
			queries: []query{{graph(bad) + "\n/\n(" + graph(judged) + " > 0)", "graphs {{sglang_config_cuda_graph}}", false}}},
		{title: "Configurations", shape: grid, unit: "none", help: "What is behind each fingerprint.", hide: []string{"job", "instance"},
			queries: []query{{"turnwatch_config_info{" + on + "}", "", false}}},
	}}
}

func corruptionEvidence() row {
	return row{"Evidence that holds at any traffic", 8, []panel{
		{title: "Alarm", unit: "none", signed: true, help: "log10 of the Shiryaev-Roberts statistic, and the threshold at which an alarm is counted. It grows with each corrupted session and falls with each clean one.",
			queries: []query{
				{`max by (gen_ai_request_model, sglang_config_fingerprint) (turnwatch_alarm_log10_evidence{` + byModel + `})`, "{{gen_ai_request_model}} {{sglang_config_fingerprint}}", false},
				{`min by (gen_ai_request_model) (turnwatch_alarm_log10_threshold{` + byModel + `})`, "threshold {{gen_ai_request_model}}", false}}},
		{title: "Corruption comes with batches", unit: "none", signed: true, help: "log10 of the e-value that sessions in batches of two and more are corrupted more often. 4 is ten thousand to one.",
			queries: []query{{`max by (gen_ai_request_model, sglang_config_fingerprint) (turnwatch_batch_log10_e{` + byModel + `})`,
				"{{gen_ai_request_model}} {{sglang_config_fingerprint}}", false}}},
		{title: "Corrupted sessions", unit: "percentunit", points: true, help: "Share of sessions with a corrupted turn.",
			queries: []query{{rate("gen_ai_request_model", "turnwatch_sessions_total", byArm+","+bad) + "\n/\n(" +
				rate("gen_ai_request_model", "turnwatch_sessions_total", byArm+","+judged) + " > 0)", "{{gen_ai_request_model}}", false}}},
	}}
}

func corruptionTraffic() row {
	return row{"Traffic", 8, []panel{
		{title: "Turns by verdict", unit: "reqps", help: "All turns.", queries: []query{{rate("turnwatch_verdict", "turnwatch_turns_total", byArm), "{{turnwatch_verdict}}", false}}},
		{title: "Finish reasons", unit: "reqps", help: "Why choices ended.",
			queries: []query{{rate("gen_ai_response_finish_reason", "turnwatch_finish_reasons_total", byArm), "{{gen_ai_response_finish_reason}}", false}}},
		{title: "Tool calls", unit: "reqps", help: "Whether anything is wrong with them.",
			queries: []query{{rate("result", "turnwatch_tool_calls_total", byArm), "{{result}}", false}}},
	}}
}
