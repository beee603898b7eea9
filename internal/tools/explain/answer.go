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

// Options say what to explain.
type Options struct {
	// Kind is a kind, a resource or a short name, with or without its group: Memcached,
	// memcacheds, memcached.cache.example.com.
	Kind, Name string
	// Namespace of the object, by default that of the kubeconfig.
	Namespace string
	// Where is the cluster.
	Where up.Where
	// Endpoint is where the operator answers, HOST:PORT. Empty: those that `operon up` runs on
	// this machine, and the default port, are asked whether they manage the kind.
	Endpoint string
}

// Answer is what there is to say of an object.
type Answer struct {
	Now        time.Time `json:"now"`
	Group      string    `json:"group,omitempty"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	Generation int64     `json:"generation"`
	// Observed is the generation that the status speaks of, 0 where it does not say.
	Observed int64 `json:"observedGeneration,omitempty"`
	Deleting bool  `json:"deleting,omitempty"`
	Paused   bool  `json:"paused,omitempty"`

	// State is Ready, InProgress, Failed or Terminating, as kstatus has it, and Message why.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Ready is the condition, nil where there is none. Others are those that are not as they
	// should be.
	Ready      *metav1.Condition  `json:"ready,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Trouble is what the object owns that is not ready, in lines, indented by ownership.
	Trouble []string `json:"trouble,omitempty"`
	Events  []Event  `json:"events,omitempty"`

	// Operator is who answered, empty where nobody did. Passes are its last reconciles of the
	// object, the newest first.
	Operator string              `json:"operator,omitempty"`
	Passes   []reconcilelog.Pass `json:"passes,omitempty"`
	// Lacks says what could not be told, and how to get it.
	Lacks []string `json:"lacks,omitempty"`
}

// Event is something that happened to the object or to what it owns.
type Event struct {
	At      time.Time `json:"at"`
	Type    string    `json:"type"`
	Object  string    `json:"object"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int       `json:"count,omitempty"`
}

// Of explains an object. An error says why there is nothing to explain; what is merely
// missing from an answer stands in its Lacks.
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

// answer gathers what the sources say.
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

// pausedAnnotation is reconcile.PausedAnnotation, whose package is too much for a tool.
const pausedAnnotation = "operon.dev/paused"

// read reads the object. One that is not there makes an error that names those that are.
func read(ctx context.Context, cluster *rest.Config, of resource, options Options) (*unstructured.Unstructured, error) {
	client, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	object, err := client.Resource(of.GroupVersionResource).Namespace(options.Namespace).Get(ctx, options.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return object, err
	}
	// A cluster may have more objects than one page: those nearby and those of that name are what may have been meant.
	here, err := client.Resource(of.GroupVersionResource).Namespace(options.Namespace).List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s not found", of.kind, address(options.Namespace, options.Name)), err)
	}
	named, err := client.Resource(of.GroupVersionResource).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + options.Name, Limit: 500})
	if err != nil { // who may only read in the namespace still learns what it has
		return nil, missing(of, options, here.Items)
	}
	return nil, missing(of, options, append(here.Items, named.Items...))
}
