package operon

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/freshness"
)

// CacheAll allows the manager's client to cache all objects of kinds that have many objects in a cluster, such as
// Secrets, ConfigMaps and Pods. Without it, reading them with that client returns a CacheError. Pass an example of the
// kind, such as &corev1.Secret{}. Memory usage then grows with the cluster, not with the number of managed objects.
func CacheAll(examples ...client.Object) Option {
	return func(p *parts) { p.cached = append(p.cached, examples...) }
}

// kindsCached returns the kinds that are passed to CacheAll.
func (p *parts) kindsCached(scheme *runtime.Scheme) (map[schema.GroupKind]bool, error) {
	kinds := map[schema.GroupKind]bool{}
	for _, example := range p.cached {
		kind, err := apiutil.GVKForObject(example, scheme)
		if err != nil {
			return nil, fmt.Errorf("cache: %w; register its API with operon.API", err)
		}
		kinds[kind.GroupKind()] = true
	}
	return kinds, nil
}

// Everything is an option of List in Compose and Observe. It lists all objects of the kind, in one namespace or in all
// of them, and caches them. Without it, a list must select objects by labels.
var Everything client.ListOption = author.Everything

// SharedCache is an option of List, in addition to Everything and client.InNamespace. It reads the namespace from one cache of all
// namespaces in which the operator works. Without it, each namespace that is listed has a watch and a cache of its own. Lists by labels
// always share a cache.
var SharedCache client.ListOption = author.SharedCache

// numerous are the kinds that have many or large objects in a cluster, most of them irrelevant to an operator.
var numerous = map[schema.GroupKind]bool{
	{Kind: "Secret"}:    true,
	{Kind: "ConfigMap"}: true,
	{Kind: "Pod"}:       true,
}

// CacheError is returned by the manager's client for a read that would cache all objects of a kind that has many
// objects in a cluster: see CacheAll.
type CacheError struct{ Kind string }

func (e *CacheError) Error() string {
	return fmt.Sprintf("reading a %[1]s with the manager's client would hold every %[1]s of the cluster in memory: "+
		"read it in Compose or Observe, where out.Get and seen.List watch no more than they read; or limit the operator to namespaces; "+
		"or ask for it by name, with operon.CacheAll(&corev1.%[1]s{})", e.Kind)
}

// bounded is the manager's cache. It refuses to cache all objects of numerous kinds.
type bounded struct {
	cache.Cache
	scheme *runtime.Scheme
	allows func(schema.GroupKind) bool
	ready  func(context.Context)
}

// Start implements manager.Runnable.
func (b bounded) Start(ctx context.Context) error {
	b.ready(ctx)
	return b.Cache.Start(ctx)
}

// caches configures the cache and the client of the operator's manager.
type caches struct {
	// namespaces are the namespaces that the operator is limited to. If empty, there is no limit.
	namespaces map[string]cache.Config
	// overlay makes the manager's client read its own writes.
	overlay *freshness.Overlay
	// cached are the kinds that may be cached even if they are numerous.
	cached map[schema.GroupKind]bool
	// ready waits until objects may be read.
	ready func(context.Context)
}

// newCache creates the manager's cache.
func (c *caches) newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	made, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	return c.overlay.Cache(bounded{Cache: made, scheme: options.Scheme, allows: c.mayCache, ready: c.ready}), nil
}

// newClient creates the manager's client, which reads its own writes.
func (c *caches) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	made, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	held, ok := options.Cache.Reader.(cache.Cache)
	if !ok {
		return made, nil // the client has no cache
	}
	return c.overlay.Client(made, held, options.Cache.DisableFor...), nil
}

// mayCache reports whether all objects of a kind may be cached, including those of other owners.
func (c *caches) mayCache(kind schema.GroupKind) bool {
	return len(c.namespaces) > 0 || !numerous[kind] || c.cached[kind]
}

// check returns an error for an object of a kind that must not be cached. Metadata may always be cached.
func (b bounded) check(object runtime.Object) error {
	switch object.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return nil
	}
	kind, err := apiutil.GVKForObject(object, b.scheme)
	if err != nil {
		return err
	}
	return b.checkKind(kind)
}

func (b bounded) checkKind(kind schema.GroupVersionKind) error {
	one := schema.GroupKind{Group: kind.Group, Kind: strings.TrimSuffix(kind.Kind, "List")}
	if !b.allows(one) {
		return &CacheError{Kind: one.Kind}
	}
	return nil
}

// Get implements client.Reader.
func (b bounded) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := b.check(object); err != nil {
		return err
	}
	return b.Cache.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (b bounded) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := b.check(list); err != nil {
		return err
	}
	return b.Cache.List(ctx, list, options...)
}

// GetInformer implements cache.Informers.
func (b bounded) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if err := b.check(object); err != nil {
		return nil, err
	}
	return b.Cache.GetInformer(ctx, object, options...)
}

// GetInformerForKind implements cache.Informers.
func (b bounded) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	if err := b.checkKind(kind); err != nil {
		return nil, err
	}
	return b.Cache.GetInformerForKind(ctx, kind, options...)
}
