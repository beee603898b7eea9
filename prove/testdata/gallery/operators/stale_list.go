package operators

import (
	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: whether there is a Job is read from the cache alone, where ok-backup-elected asks the API server.
// While the cache shows the past, each try creates another Job, with another name.
var staleList = Operator{
	Name:  "stale-list",
	About: "checks only its cache for a Job before it creates one with a generated name",
	Model: "Sieve, stale state: duplicates caused by stale informers, which the ReplicaSet controller's expectations prevent",
	Class: finding.Stale, Property: finding.SameState, Also: []finding.Property{finding.Bounded},
	Both:  "each stale list results in one more Job",
	Needs: []Need{Freeze}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		cached := m.GetClient()
		return run(m, "stale-list", &generatedBackup{cached, cached}, &api.Backup{}, &batchv1.Job{})
	},
}
