// Package e2e runs what deploy holds, with real programs: a simulated SGLang,
// turnwatch, a Collector, Prometheus and Alertmanager, as the files here
// configure them. It needs prometheus, promtool and prometheus-alertmanager, and
// builds the rest.
//
//	go test -tags e2e ./...          # in this folder
//	go test -tags 'e2e full' ./...   # Prometheus 3, VictoriaMetrics and Jaeger as well, built from their modules
package e2e
