// Package resourceclient reads and writes objects of one kind in the cheapest form: their metadata alone, Go
// types (in protobuf, for built-in kinds), or maps.
//
// It is three clients of client-go behind one interface, so that the watch and the writer of
// an object choose the same form, and the response of a write is equivalent to what a
// watch will deliver. All share the operator's connections.
package resourceclient

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Form is the form in which objects are read from the API server.
type Form string

const (
	// Metadata: *metav1.PartialObjectMetadata.
	Metadata Form = "metadata"
	// Typed: the Go types of the scheme.
	Typed Form = "typed"
	// Loose: *unstructured.Unstructured.
	Loose Form = "loose"
)

// Config of a Wire. All fields are required.
type Config struct {
	REST   *rest.Config
	HTTP   *http.Client
	Mapper meta.RESTMapper
	Scheme *runtime.Scheme
}

// Wire creates endpoints. It is safe for concurrent use.
type Wire struct {
	cfg      Config
	metadata metadata.Interface
	dynamic  dynamic.Interface
	groups   *discovery.DiscoveryClient

	mu    sync.Mutex
	typed map[schema.GroupVersionKind]*typed
}

// New returns a Wire. It sends nothing yet.
func New(cfg Config) (*Wire, error) {
	w := &Wire{cfg: cfg, typed: map[schema.GroupVersionKind]*typed{}}
	var err error
	if w.metadata, err = metadata.NewForConfigAndClient(cfg.REST, cfg.HTTP); err != nil {
		return nil, err
	}
	if w.dynamic, err = dynamic.NewForConfigAndClient(cfg.REST, cfg.HTTP); err != nil {
		return nil, err
	}
	w.groups, err = discovery.NewDiscoveryClientForConfigAndClient(cfg.REST, cfg.HTTP)
	return w, err
}

// Endpoint reads and writes the objects of one kind in one form. Namespaces are empty for
// cluster-scoped kinds, and for reading all namespaces. Errors are the API server's.
type Endpoint interface {
	Get(ctx context.Context, namespace, name string) (runtime.Object, error)
	List(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error)
	// Apply sends an object as JSON by server-side apply and returns the result.
	Apply(ctx context.Context, namespace, name string, body []byte, options metav1.PatchOptions) (runtime.Object, error)
	// Example returns an empty object of the form.
	Example() runtime.Object
}

// Endpoint returns the endpoint of a kind. A kind that the cluster does not have is a
// *MissingKindError; Typed is an error for kinds that the scheme does not have.
func (w *Wire) Endpoint(kind schema.GroupVersionKind, form Form) (Endpoint, error) {
	mapping, err := w.cfg.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, &MissingKindError{Kind: kind}
	}
	if err != nil {
		return nil, err
	}
	switch form {
	case Metadata:
		return metadataOnly{w.metadata.Resource(mapping.Resource)}, nil
	case Typed:
		return w.typedEndpoint(kind, mapping)
	}
	return loose{w.dynamic.Resource(mapping.Resource), kind}, nil
}

// Namespaced reports whether a kind is namespaced. It is false for a kind
// that the cluster does not have.
func (w *Wire) Namespaced(kind schema.GroupVersionKind) bool {
	mapping, err := w.cfg.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// Served returns the versions in which the API server serves a kind, the preferred one first. It asks the API server, while a mapper does not
// notice that a kind or version is removed.
func (w *Wire) Served(ctx context.Context, kind schema.GroupKind) ([]schema.GroupVersionKind, error) {
	all, err := w.groups.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the versions of %s: %w", kind, err)
	}
	at := slices.IndexFunc(all.Groups, func(group metav1.APIGroup) bool { return group.Name == kind.Group })
	if at < 0 {
		return nil, nil
	}
	var served []schema.GroupVersionKind
	for _, version := range all.Groups[at].Versions {
		resources, err := w.groups.ServerResourcesForGroupVersionWithContext(ctx, version.GroupVersion)
		if apierrors.IsNotFound(err) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, fmt.Errorf("find the kinds of %s: %w", version.GroupVersion, err)
		}
		if slices.ContainsFunc(resources.APIResources, func(one metav1.APIResource) bool { return one.Kind == kind.Kind && !strings.Contains(one.Name, "/") }) {
			served = append(served, kind.WithVersion(version.Version))
		}
	}
	return served, nil
}

// MissingKindError reports that the cluster does not have a kind. The kind may be added later.
type MissingKindError struct{ Kind schema.GroupVersionKind }

func (e *MissingKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s; is its CRD installed?", e.Kind.Kind, e.Kind.GroupVersion())
}
