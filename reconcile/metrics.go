package reconcile

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// stepSeconds tells where reconciles spend their time. Its labels are bounded: kinds of
// this operator times names of steps.
var stepSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "operon_step_duration_seconds",
	Help:    "How long each step of a reconcile took.",
	Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8),
}, []string{"kind", "step"})

// delayed counts the passes that were put off because their object is reconciled too often.
var delayed = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "operon_reconciles_delayed_total",
	Help: "How many reconciles were delayed because something changed all the time.",
}, []string{"kind"})

func init() { metrics.Registry.MustRegister(stepSeconds, delayed) }
