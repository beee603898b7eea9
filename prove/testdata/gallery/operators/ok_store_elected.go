package operators

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: like ok-store, with leader election.
var okStoreElected = Operator{
	Name: "ok-store-elected", Correct: true, Elects: true,
	About: "like ok-store, with leader election",
	CRDs:  stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-store-elected", &wholeStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}
