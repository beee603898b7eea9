package operators

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: an error that the author did not think of ends the whole operator, and not the one reconcile.
var exits = Operator{
	Name:  "exits",
	About: "exits on an unexpected error",
	Model: "exit on an API error, in many operators",
	Class: finding.Crash, Property: finding.Alive,
	Needs: []Need{Answer}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &strictApp{wholeApp{m.GetClient()}, make(chan error, 1)}
		if err := m.Add(manager.RunnableFunc(r.wait)); err != nil {
			return err
		}
		return run(m, "exits", r, &api.App{}, appKinds()...)
	},
}

type strictApp struct {
	wholeApp
	fatal chan error
}

func (r *strictApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	result, err := r.wholeApp.Reconcile(ctx, app)
	if err == nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return result, err
	}
	select {
	case r.fatal <- err:
	default:
	}
	return result, err
}

// wait ends the manager with the first error that is not expected.
func (r *strictApp) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.fatal:
		return fmt.Errorf("cannot go on: %w", err)
	}
}
