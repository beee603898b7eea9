package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/tools/up"
)

// Options select the object to explain.
type Options struct {
	// Kind is a kind, a resource or a short name, with or without its group: Memcached, memcacheds, memcached.cache.example.com.
	Kind, Name string
	// Namespace is the namespace of the object, by default the namespace of the kubeconfig.
	Namespace string
	// Where selects the cluster.
	Where up.Where
	// Endpoint is the debug endpoint of the operator, HOST:PORT. If it is empty, the operators that `operon up` runs on this
	// machine, and the default port, are queried whether they manage the kind.
	Endpoint string
}

// Answer is the explanation of an object.
type Answer struct {
	Now        time.Time `json:"now"`
	Group      string    `json:"group,omitempty"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	Generation int64     `json:"generation"`
	// Observed is the observedGeneration of the status, or 0 if the status does not have it.
	Observed int64 `json:"observedGeneration,omitempty"`
	Deleting bool  `json:"deleting,omitempty"`
	Paused   bool  `json:"paused,omitempty"`

	// State is Ready, InProgress, Failed or Terminating, as computed by kstatus, and Message the reason.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Ready is the condition Ready, or nil if there is none. Conditions are the other conditions that indicate a problem.
	Ready      *metav1.Condition  `json:"ready,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Trouble lists the child objects that are not ready, one in a line, indented by ownership.
	Trouble []string `json:"trouble,omitempty"`
	Events  []Event  `json:"events,omitempty"`

	// Operator is the operator that answered, or empty if none did. Passes are its last reconciles of the object, the newest
	// first.
	Operator string              `json:"operator,omitempty"`
	Passes   []reconcilelog.Pass `json:"passes,omitempty"`
	// Lacks lists the missing information, and how to get it.
	Lacks []string `json:"lacks,omitempty"`
}

// Event is a Kubernetes event about the object or one of its child objects.
type Event struct {
	At      time.Time `json:"at"`
	Type    string    `json:"type"`
	Object  string    `json:"object"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int       `json:"count,omitempty"`
}

// Of explains an object. It returns an error if the object cannot be explained. Information that is merely missing is listed
// in Lacks.
func Of(ctx context.Context, options Options) (*Answer, error) {
	cluster, err := up.Find(ctx, options.Where)
	if err != nil {
		return nil, err
	}
	if options.Namespace == "" {
		options.Namespace = cluster.Namespace
	}
	lookup, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	if err != nil {
		return nil, err
	}
	known, err := resources(lookup)
	if err != nil {
		return nil, err
	}
	found, err := pick(known, options.Kind)
	if err != nil {
		return nil, err
	}
	if !found.namespaced {
		options.Namespace = ""
	}
	object, err := read(ctx, cluster.Config, found, options)
	if err != nil {
		return nil, err
	}
	return answer(ctx, cluster.Config, object, options), nil
}

// answer collects the information from all sources.
func answer(ctx context.Context, cluster *rest.Config, object *unstructured.Unstructured, options Options) *Answer {
	kind := object.GroupVersionKind()
	a := &Answer{
		Now: time.Now(), Group: kind.Group, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
		Generation: object.GetGeneration(), Deleting: object.GetDeletionTimestamp() != nil,
		Paused: object.GetAnnotations()[pausedAnnotation] == "true",
	}
	a.status(object)
	a.look(ctx, cluster, object)
	a.ask(ctx, cluster.Host, options.Endpoint)
	return a
}

// pausedAnnotation is reconcile.PausedAnnotation. Its package is too large to import into a tool.
const pausedAnnotation = "operon.dev/paused"

// read reads the object. If it does not exist, the error names objects that do.
func read(ctx context.Context, cluster *rest.Config, of resource, options Options) (*unstructured.Unstructured, error) {
	client, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	object, err := client.Resource(of.GroupVersionResource).Namespace(options.Namespace).Get(ctx, options.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return object, err
	}
	// A cluster may have more objects than one page: the user may have meant objects in the namespace or objects with that name.
	here, err := client.Resource(of.GroupVersionResource).Namespace(options.Namespace).List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s not found", of.kind, address(options.Namespace, options.Name)), err)
	}
	named, err := client.Resource(of.GroupVersionResource).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + options.Name, Limit: 500})
	if err != nil { // a user who may read only in the namespace still sees its objects
		return nil, missing(of, options, here.Items)
	}
	return nil, missing(of, options, append(here.Items, named.Items...))
}
