package report

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// stepSeconds measures the durations of the steps of reconciles. Its labels are bounded: kinds of
// this operator times names of steps.
var stepSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "operon_step_duration_seconds",
	Help:    "Duration of each step of a reconcile in seconds.",
	Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8),
}, []string{"kind", "step"})

// Labels are kinds, outcomes, verbs and kinds of causes, never names of objects: the number
// of series does not grow with what an operator manages.
var (
	reconcilesTotal = counter("operon_reconciles_total", "Total reconciles by outcome: done, wait, retry, stalled, gone, delayed.", "kind", "outcome")
	causesTotal     = counter("operon_causes_total", "Total triggers of reconciles by kind.", "kind", "cause")
	writesTotal     = counter("operon_writes_total", "Total requests that changed an object, by kind.", "kind", "verb")
	repairsTotal    = counter("operon_drift_repaired_total", "Total children whose drift was reverted, by kind.", "kind")
	objectsReady    = gauge("operon_objects", "Objects by status of their Ready condition.", "kind", "ready")
	callsTotal      = counter("operon_external_calls_total", "Total calls to external systems by kind, call and result: ok, away, denied, refused or garbage.", "kind", "call", "result")
	watchCount      = gauge("operon_watches", "Open watches of children and of objects that reconciles read, shared by all kinds.")
)

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func init() {
	metrics.Registry.MustRegister(stepSeconds, reconcilesTotal, causesTotal, writesTotal, repairsTotal, objectsReady, watchCount, callsTotal)
}

// CountCall counts a call to an external system. The kinds are the author's, and few.
func CountCall(kind, call, result string) { callsTotal.WithLabelValues(kind, call, result).Inc() }
