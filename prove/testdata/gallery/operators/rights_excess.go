package operators

import (
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong in its role, not in its code: it may delete nodes, and write Secrets, and does neither.
var rightsExcess = Operator{
	Name:  "rights-excess",
	About: "may delete nodes and write Secrets, which it never does",
	Model: "excessive permissions, in most operators",
	Class: finding.Privilege, Property: finding.Needed,
	Needs: []Need{Role}, CRDs: apps, Samples: "config/samples/app.yaml", Role: "config/rbac/rights-excess.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "rights-excess", &api.App{}, appKinds()...).
			Watches(&corev1.Secret{}, appsOf(m.GetClient())).
			Complete(reconcile.AsReconciler(m.GetClient(), &wholeApp{m.GetClient()}))
	},
}
