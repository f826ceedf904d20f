// Package telemetry tells the world of turns: metrics, spans and log lines, by
// OpenTelemetry, which no other package knows.
//
// Everything is made after the last byte of a turn, from its record. What it
// costs is bounded, and a collector that is dead, slow or lying costs counted
// records and nothing else.
package telemetry
