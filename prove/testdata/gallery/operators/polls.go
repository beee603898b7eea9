package operators

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: it asks the API server itself for everything, ten times in a second, where watches would tell. It asks
// for all at once: who waits for each answer looks seldom enough on a slow machine.
var polls = Operator{
	Name:  "polls",
	About: "polls the API server instead of watching",
	Model: "unbounded requeue",
	Class: finding.HotLoop, Property: finding.Silent,
	Needs: []Need{Create}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &pollingApp{wholeApp{m.GetClient()}, m.GetAPIReader()}
		return run(m, "polls", r, &api.App{}, appKinds()...)
	},
}

type pollingApp struct {
	wholeApp
	live client.Reader
}

func (r *pollingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	asking, all := errgroup.WithContext(ctx)
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
		asking.Go(func() error {
			return r.live.List(all, list, client.InNamespace(app.Namespace), client.MatchingLabels(labels(app)))
		})
	}
	if err := asking.Wait(); err != nil {
		return ctrl.Result{}, err
	}
	if result, err := r.wholeApp.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
}
