// Package telemetry creates the OpenTelemetry spans of an operator: of each reconcile, of its steps, and of the
// requests to the API server that these send.
//
// It is off unless there is a provider, by operon.Config or by the standard
// OTEL_EXPORTER_OTLP_* variables (see FromEnvironment). A nil *Tracer is one that is off, and
// costs nothing. Names of spans are steps and resources, never names of objects, which are
// attributes.
package telemetry
