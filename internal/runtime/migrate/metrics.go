package migrate

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	migrated = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "operon_migration_objects_total",
		Help: "Total stored objects by result of the storage migration: rewritten, meanwhile (written or deleted by another client since it began), failed.",
	}, []string{"kind", "result"})
	remaining = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "operon_migration_remaining_objects",
		Help: "Stored objects that the running storage migration has not processed yet.",
	}, []string{"kind"})
)

func init() { metrics.Registry.MustRegister(migrated, remaining) }
