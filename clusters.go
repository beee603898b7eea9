package operon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// Cluster allows composers and observers to read from another cluster, which they select by name:
//
//	found, err := out.In("east").Get(ctx, secret)
//
// Objects that are read there are also watched, and a change triggers another reconcile, as for reads from the
// operator's own cluster. Nothing is written there. The identity of config needs permission to get, list and watch what
// is read. The operator starts even if the other cluster is unreachable; reconciles that read from it are retried.
func Cluster(name string, config *rest.Config) Option {
	return func(p *parts) {
		p.setups = append(p.setups, func(ctx context.Context, o *operator) error {
			if err := o.addCluster(ctx, o.name, o.manager.GetScheme(), name, config); err != nil {
				return fmt.Errorf("cluster %q: %w", name, err)
			}
			return nil
		})
	}
}

// children reads and writes child objects, and reads from other clusters.
type children struct {
	wire     *resourceclient.Wire
	writes   *freshness.Children
	tracker  *watches.Tracker
	clusters map[string]*watches.Tracker // other clusters, by name
}

// watch creates the clients and trackers for reads and writes of children in the operator's own cluster.
func (c *children) watch(life context.Context, manager ctrl.Manager, name string, namespaces map[string]cache.Config, member *shard.Member) error {
	var err error
	c.wire, err = resourceclient.New(resourceclient.Config{
		REST: manager.GetConfig(), HTTP: manager.GetHTTPClient(), Mapper: manager.GetRESTMapper(), Scheme: manager.GetScheme(),
	})
	c.writes = freshness.NewChildren()
	tracking := watches.Config{
		Wire: c.wire, Scheme: manager.GetScheme(), Namespaces: slices.Collect(maps.Keys(namespaces)), Manager: name, Writes: c.writes,
	}
	if member != nil {
		tracking.Shard = member.Children
	}
	c.tracker = watches.New(life, tracking)
	return err
}

// addCluster makes another cluster available for reads.
func (c *children) addCluster(life context.Context, operator string, scheme *runtime.Scheme, name string, config *rest.Config) error {
	switch {
	case name == "":
		return errors.New("it needs a name")
	case c.clusters[name] != nil:
		return errors.New("there are two of this name")
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	rest.AddUserAgent(config, operator)
	config.Wrap(readOnly)
	wired, err := wireTo(config, scheme)
	if err != nil {
		return err
	}
	if c.clusters == nil {
		c.clusters = map[string]*watches.Tracker{}
	}
	c.clusters[name] = watches.New(life, watches.Config{
		Wire: wired, Scheme: scheme, Manager: operator, Writes: freshness.NewChildren(),
	})
	return nil
}

// wireTo returns a client for another cluster. It discovers the kinds of that cluster when they are needed.
func wireTo(config *rest.Config, scheme *runtime.Scheme) (*resourceclient.Wire, error) {
	var transport *http.Client
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, transport)
	if err != nil {
		return nil, err
	}
	return resourceclient.New(resourceclient.Config{REST: config, HTTP: transport, Mapper: mapper, Scheme: scheme})
}

// read begins the tracked reads of a reconcile, in all clusters.
func (c *children) read(queue *watches.Queue, reader types.NamespacedName) author.Reads {
	others := map[string]author.Reads{}
	for name, tracker := range c.clusters {
		others[name] = tracker.Begin(queue, reader)
	}
	return author.Everywhere(c.tracker.Begin(queue, reader), others)
}
