package ansible

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Metrics of the engine.
var (
	runsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "operon_ansible_runs_total", Help: "Runs of Ansible roles and playbooks that have ended, by kind and result: succeeded or failed.",
	}, []string{"kind", "result"})
	skippedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "operon_ansible_runs_skipped_total", Help: "Reconciles without a run, because nothing that the last run depends on has changed, by kind.",
	}, []string{"kind"})
	runSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "operon_ansible_run_duration_seconds", Help: "Duration of runs in seconds, by kind.", Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
	}, []string{"kind"})
)

func init() { ctrlmetrics.Registry.MustRegister(runsTotal, skippedTotal, runSeconds) }
