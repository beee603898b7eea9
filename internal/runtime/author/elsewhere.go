package author

import (
	"context"
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

// Elsewhere reads objects in another cluster, and watches them there.
type Elsewhere struct{ reading }

// In returns a reader for another cluster, by the name that operon.Cluster gave it. Its Get and List work as in the
// operator's own cluster. Nothing is written to other clusters.
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

// Everywhere combines the reads in the operator's own cluster with the reads in other clusters, by their names.
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

// End ends the reads in all clusters, including clusters in which this reconcile did not read.
func (e everywhere) End() {
	e.Reads.End()
	for _, other := range e.others {
		other.End()
	}
}

// nowhere is an unknown cluster.
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

func (n nowhere) End() {}
