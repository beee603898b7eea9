package operontest

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/reconcile"
	"github.com/operon-framework/operon/track"
)

// noReads are those of a composition that is not reconciled.
func noReads(types.NamespacedName) reconcile.Reads { return nothing{} }

type nothing struct{}

func (nothing) List(context.Context, client.ObjectList, track.Selection) error {
	return errors.New("nothing can be read here")
}

func (nothing) End(context.Context) error { return nil }
