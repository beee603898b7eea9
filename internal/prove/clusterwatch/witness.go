package clusterwatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/patient"
)

// Witness watches a cluster. It is safe for concurrent use.
type Witness struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	life      context.Context
	end       context.CancelFunc
	watches   sync.WaitGroup
	pulse     pulse

	mu     sync.Mutex
	kinds  map[schema.GroupResource]*kind
	scenes map[string]*Scene
}

// Start starts to watch all kinds of a cluster. It returns when the existing objects have been read. The
// watches continue until Close is called.
func Start(ctx context.Context, config *rest.Config) (*Witness, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(patient.Config(config, patient.Session)) // reflectors repeat lists themselves
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	w := &Witness{
		client: client, discovery: found, life: life, end: end,
		kinds: map[schema.GroupResource]*kind{}, scenes: map[string]*Scene{},
	}
	if err := w.Refresh(ctx); err != nil {
		w.Close()
		return nil, err
	}
	w.watches.Go(func() { w.beat(life, "operon-prove-pulse-"+strings.ToLower(rand.Text()[:6])) })
	return w, nil
}

// Close stops all watches.
func (w *Witness) Close() {
	w.end()
	w.watches.Wait()
}

// Refresh starts to watch kinds that are new in the cluster, for example after a CustomResourceDefinition was created.
// It returns when their objects have been read.
func (w *Witness) Refresh(ctx context.Context) error {
	served, err := w.served()
	if err != nil {
		return fmt.Errorf("what kinds the cluster has: %w", err)
	}
	var all []*kind
	w.mu.Lock()
	for resource, named := range served {
		if w.kinds[resource.GroupResource()] == nil {
			k := &kind{witness: w, resource: resource, named: named, read: make(chan struct{})}
			life, end := context.WithCancel(w.life)
			k.end = end
			w.kinds[resource.GroupResource()] = k
			w.watches.Go(func() { k.watch(life) })
		}
		all = append(all, w.kinds[resource.GroupResource()])
	}
	w.mu.Unlock()
	for _, k := range all {
		if err := w.await(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the objects of a kind have been read, or when the kind no longer exists: another client may have
// removed it after it was discovered.
func (w *Witness) await(ctx context.Context, k *kind) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-k.read:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s cannot be watched: %w", k.resource, context.Cause(ctx))
		case <-tick.C:
		}
		served, err := w.served()
		if err != nil {
			continue // the error does not show whether the kind still exists: retry
		}
		if _, there := served[k.resource]; !there {
			w.drop(k)
			return nil
		}
	}
}

// drop stops watching a kind until it is discovered again.
func (w *Witness) drop(k *kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k.end()
	if of := k.resource.GroupResource(); w.kinds[of] == k {
		delete(w.kinds, of)
	}
}

// served returns the kinds that can be watched, in the versions that the API server prefers.
func (w *Witness) served() (map[schema.GroupVersionResource]schema.GroupVersionKind, error) {
	lists, err := w.discovery.ServerPreferredResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, err // an unavailable aggregated API does not prevent watches of the other APIs
	}
	all := map[schema.GroupVersionResource]schema.GroupVersionKind{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, one := range list.APIResources {
			resource := version.WithResource(one.Name)
			if watchable(one.Verbs) && !seenTwice[resource.GroupResource()] {
				all[resource] = version.WithKind(one.Kind)
			}
		}
	}
	return all, nil
}

// seenTwice contains the kinds whose objects are also served as another kind.
var seenTwice = map[schema.GroupResource]bool{
	{Group: "events.k8s.io", Resource: "events"}: true,
	{Resource: "endpoints"}:                      true,
}

func watchable(verbs []string) bool {
	list, watch := false, false
	for _, verb := range verbs {
		list, watch = list || verb == "list", watch || verb == "watch"
	}
	return list && watch
}

// Scene returns the scene of a namespace, or of the cluster-scoped objects if the name is empty. The namespace does not have
// to exist yet.
func (w *Witness) Scene(namespace string) *Scene {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.scene(namespace)
}

// scene is Scene for callers that hold the lock.
func (w *Witness) scene(namespace string) *Scene {
	s := w.scenes[namespace]
	if s == nil {
		s = &Scene{witness: w, objects: map[key]*unstructured.Unstructured{}, newest: map[key]uint64{}, changed: make(chan struct{})}
		w.scenes[namespace] = s
	}
	return s
}

// ForgetChanges deletes the history of a namespace that still exists.
func (w *Witness) ForgetChanges(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.scenes[namespace]; s != nil {
		s.changes = nil
	}
}

// Forget deletes the recorded data of a namespace that does not exist any more, or will not be used again.
func (w *Witness) Forget(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.scenes, namespace)
}

// Object returns the current state of an object, or nil if it does not exist. Callers must not change it.
func (w *Witness) Object(resource schema.GroupResource, namespace, name string) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.scenes[namespace]
	if s == nil {
		return nil
	}
	return s.objects[key{resource, name}]
}

// Interrupted returns a kind whose watch was interrupted after a time and has not been resumed, or "" if there is none. Its changes are not
// shown until then. Events, leases and endpoints are left out.
func (w *Witness) Interrupted(since time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for of, k := range w.kinds {
		if !beside[of] && k.interrupted.After(since) {
			return of.String()
		}
	}
	return ""
}

// Current reports whether a kind is watched and its watch is not interrupted.
func (w *Witness) Current(resource schema.GroupResource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[resource]
	return k != nil && k.interrupted.IsZero()
}

// Watches reports whether a kind is watched. An object of a watched kind that is not known does not exist.
func (w *Witness) Watches(resource schema.GroupResource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[resource] != nil
}
