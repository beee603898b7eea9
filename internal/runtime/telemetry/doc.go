// Package telemetry creates the OpenTelemetry spans of an operator: for each reconcile, for its steps, and for the requests that they
// send to the API server.
//
// It is off unless operon.Config or the standard OTEL_EXPORTER_OTLP_* variables (see FromEnvironment) set a provider. A nil *Tracer is
// off and costs nothing. Names of spans are steps and resources. Names of objects are attributes.
package telemetry
