package operators

import (
	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: there is no leader election. Two instances, as there are during each update, both find no Job
// and both create one.
var twoAtOnce = Operator{
	Name:  "two-at-once",
	About: "runs without leader election, and creates a Job with a generated name",
	Model: "leader overlap",
	Class: finding.Overlap, Property: finding.SameState, Also: []finding.Property{finding.Bounded},
	Needs: []Need{Two}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &generatedBackup{m.GetClient(), m.GetAPIReader()}
		return run(m, "two-at-once", r, &api.Backup{}, &batchv1.Job{})
	},
}
