package operontest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/author"
)

// In makes a change in another cluster of the case.
func In(cluster string, change Change) Change {
	return func(ctx context.Context, p Place) error {
		other, ok := p.others[cluster]
		if !ok {
			return fmt.Errorf("the case has no cluster %q: give it one in Clusters", cluster)
		}
		return change(ctx, other)
	}
}

// clusters are the other clusters of a case. Each has an API in memory and records its reads.
type clusters map[string]*reads

// newClusters creates the clusters and adds them to the place.
func (o *Operator[T]) newClusters(ctx context.Context, time clock.PassiveClock, p *Place, given map[string][]client.Object) (clusters, error) {
	all := clusters{}
	p.others = map[string]Place{}
	for name, objects := range given {
		api, err := o.newAPI(time)
		if err != nil {
			return nil, err
		}
		place := Place{Client: api, Namespace: p.Namespace}
		for _, object := range objects {
			if err := Create(object)(ctx, place); err != nil {
				return nil, fmt.Errorf("in cluster %s: %w", name, err)
			}
		}
		p.others[name], all[name] = place, newReads(api, p.Namespace)
	}
	return all, nil
}

// beside begins the reads of a reconcile, in its own cluster and in the others.
func (all clusters) beside(own *reads) func(types.NamespacedName) author.Reads {
	return func(reader types.NamespacedName) author.Reads {
		others := map[string]author.Reads{}
		for name, there := range all {
			others[name] = there.begin(reader)
		}
		return author.Everywhere(own.begin(reader), others)
	}
}

// changed reports whether anything that was read in the other clusters has changed since.
func (all clusters) changed(ctx context.Context) (bool, error) {
	for _, there := range all {
		if changed, err := there.changed(ctx); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// read describes for people what was read in the other clusters.
func (all clusters) read() []string {
	var read []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, what := range all[name].read {
			read = append(read, what+" in cluster "+name)
		}
	}
	return read
}
