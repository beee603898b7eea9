package operators

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: its caches of children have only metadata, which is enough to notice changes. It reads children from the API server.
var okAppMetadata = Operator{
	Name: "ok-app-metadata", Correct: true,
	About: "caches only the metadata of children, and reads them from the API server",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		direct, err := client.New(m.GetConfig(), client.Options{HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme()})
		if err != nil {
			return err
		}
		b := build(m, "ok-app-metadata", &api.App{})
		for _, child := range appKinds() {
			b = b.Owns(child, builder.OnlyMetadata)
		}
		return b.Complete(reconcile.AsReconciler(m.GetClient(), &wholeApp{direct}))
	},
}
