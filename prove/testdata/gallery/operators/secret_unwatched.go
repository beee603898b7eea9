package operators

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the Secret that the App names is read, and not watched. When it changes, the program is not started
// again until something else happens.
var secretUnwatched = Operator{
	Name:  "secret-unwatched",
	About: "reads the Secret of an App but does not watch it",
	Model: "an unwatched dependency: Secrets in many operators",
	Class: finding.Misoperation, Property: finding.SameFresh, Also: []finding.Property{finding.SameState},
	Both:  "whether it reads the new Secret depends on what else wakes it",
	Needs: []Need{ChangeOther}, CRDs: apps, Samples: "config/samples/app.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "secret-unwatched", &wholeApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}
