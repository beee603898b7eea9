package operators

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong in its role, not in its code: a Service is deleted only when an App asks for none any more, and the
// verb for that was forgotten.
var rightsMissing = Operator{
	Name:  "rights-missing",
	About: "lacks the permission that only the deletion of a Service needs",
	Model: "missing permission on a rare code path",
	Class: finding.Privilege, Property: finding.Permitted, Also: []finding.Property{finding.SameFresh},
	Both:  "the Service that it may not delete stays after the change",
	Needs: []Need{Role, Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml", Role: "config/rbac/rights-missing.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "rights-missing", &wholeApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}
