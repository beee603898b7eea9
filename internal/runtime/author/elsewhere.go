package author

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// Elsewhere reads in another cluster. What it reads is watched there.
type Elsewhere struct{ reading }

// In reads in another cluster, by the name that operon.Cluster gave it, as Get and List do in
// the operator's own. Nothing is ever written there.
func (r *reading) In(cluster string) *Elsewhere {
	everywhere, ok := r.reads.(everywhere)
	if !ok && r.reads == nil {
		return &Elsewhere{reading{owner: r.owner}}
	}
	if reads := everywhere.others[cluster]; reads != nil {
		return &Elsewhere{reading{reads: reads, owner: r.owner}}
	}
	return &Elsewhere{reading{reads: nowhere{cluster, slices.Sorted(maps.Keys(everywhere.others))}, owner: r.owner}}
}

// Everywhere makes of the reads in the operator's own cluster, and of those in others by
// their names, one.
func Everywhere(own Reads, others map[string]Reads) Reads {
	if len(others) == 0 {
		return own
	}
	return everywhere{own, others}
}

type everywhere struct {
	Reads
	others map[string]Reads
}

// End lets go in all clusters, also in those that this reconcile did not read in.
func (e everywhere) End(ctx context.Context) error {
	err := e.Reads.End(ctx)
	for _, other := range e.others {
		err = errors.Join(err, other.End(ctx))
	}
	return err
}

// nowhere is a cluster that the operator does not know.
type nowhere struct {
	name  string
	known []string
}

func (n nowhere) err() error {
	if len(n.known) == 0 {
		return fmt.Errorf("the operator has no cluster %q: add it with operon.Cluster", n.name)
	}
	return fmt.Errorf("the operator has no cluster %q, only %s", n.name, strings.Join(n.known, ", "))
}

func (n nowhere) Children(context.Context, resourceclient.Children, types.UID, ...string) ([]*plan.Live, error) {
	return nil, n.err()
}

func (n nowhere) List(context.Context, client.ObjectList, watches.Selection) error { return n.err() }

func (n nowhere) Get(context.Context, client.Object) (bool, error) { return false, n.err() }

func (n nowhere) End(context.Context) error { return nil }
