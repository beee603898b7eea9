package migrate

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	migrated = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "operon_migration_objects_total",
		Help: "Stored objects by what a storage migration did about them: rewritten, meanwhile (written or deleted since it began, by somebody else or before a restart), failed.",
	}, []string{"kind", "result"})
	remaining = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "operon_migration_remaining_objects",
		Help: "Stored objects that a storage migration has not looked at yet; 0 when there is none.",
	}, []string{"kind"})
)

func init() { metrics.Registry.MustRegister(migrated, remaining) }
