package operon

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// Cluster lets composers and observers read in another cluster, under a name:
//
//	found, err := out.In("east").Get(ctx, secret)
//
// What they read there is watched there, and the object reconciled again when it changes, as
// with reads in the operator's own cluster. Nothing is written there. The identity of config
// needs to get, list and watch what is read. The operator starts also while the cluster
// cannot be reached; what reads from it is retried.
func Cluster(name string, config *rest.Config) Part {
	return func(p *parts) {
		p.setups = append(p.setups, func(ctx context.Context, o *operator) error {
			if err := o.addCluster(ctx, name, config); err != nil {
				return fmt.Errorf("cluster %q: %w", name, err)
			}
			return nil
		})
	}
}

func (o *operator) addCluster(life context.Context, name string, config *rest.Config) error {
	switch {
	case name == "":
		return errors.New("it needs a name")
	case o.clusters[name] != nil:
		return errors.New("there are two of this name")
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	rest.AddUserAgent(config, o.name)
	config.Wrap(readOnly)
	wired, err := o.wireTo(config)
	if err != nil {
		return err
	}
	if o.clusters == nil {
		o.clusters = map[string]*watches.Tracker{}
	}
	o.clusters[name] = watches.New(life, watches.Config{
		Wire: wired, Scheme: o.manager.GetScheme(), Manager: o.name, Memory: apply.NewMemory(),
	})
	return nil
}

// wireTo speaks to another cluster, which is asked for its kinds when they are needed.
func (o *operator) wireTo(config *rest.Config) (*resourceclient.Wire, error) {
	var transport *http.Client
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, transport)
	if err != nil {
		return nil, err
	}
	return resourceclient.New(resourceclient.Config{REST: config, HTTP: transport, Mapper: mapper, Scheme: o.manager.GetScheme()})
}

// read begins the reading of a reconcile, in all clusters.
func (o *operator) read(queue *watches.Queue, reader types.NamespacedName) author.Reads {
	others := map[string]author.Reads{}
	for name, tracker := range o.clusters {
		others[name] = tracker.Begin(queue, reader)
	}
	return author.Everywhere(o.tracker.Begin(queue, reader), others)
}
