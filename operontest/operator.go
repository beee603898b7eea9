package operontest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
)

const (
	// Manager is the name of the operator in tests, which is also its field manager.
	Manager = "operontest"
	// Namespace is the namespace of objects that do not set one.
	Namespace = "default"
)

// Operator is the operator under test: a composer and the API that it works on. Several tests may use it at the
// same time.
type Operator[T client.Object] struct {
	composer operon.Composer[T]
	api      []func(*runtime.Scheme) error
	kinds    []kind
	// definitions contains files and directories of CustomResourceDefinitions.
	definitions []string
	patience    time.Duration
	// withoutStatus means that the kind is managed with operon.WithoutStatus.
	withoutStatus bool
}

// New returns the operator of a composer. api registers its Go types, as with operon.API. The built-in types of Kubernetes
// are already registered.
func New[T client.Object](composer operon.Composer[T], api ...func(*runtime.Scheme) error) *Operator[T] {
	return &Operator[T]{composer: composer, api: api, patience: 5 * time.Minute}
}

// Kind makes the API in memory serve a kind that has no Go type, or that is cluster-scoped. By default, it serves
// the kinds of Go types, and all but those of Kubernetes are namespaced.
func (o *Operator[T]) Kind(served schema.GroupVersionKind, namespaced bool) *Operator[T] {
	with := *o
	with.kinds = append(slices.Clone(o.kinds), kind{served, namespaced})
	return &with
}

// WithoutStatus tests a kind that is managed with operon.WithoutStatus.
func (o *Operator[T]) WithoutStatus() *Operator[T] {
	with := *o
	with.withoutStatus = true
	return &with
}

// options returns the options for operon.Manage.
func (o *Operator[T]) options() []operon.ManageOption {
	if o.withoutStatus {
		return []operon.ManageOption{operon.WithoutStatus()}
	}
	return nil
}

// scheme returns a scheme with the types of Kubernetes and of the operator. Each API in memory gets its own scheme, because
// it may add types to it.
func (o *Operator[T]) scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, o.api...) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register an API: %w", err)
		}
	}
	return scheme, nil
}

// reconciler returns the reconciler that operon.Manage creates, but with other clients, reads, events and time.
func (o *Operator[T]) reconciler(api client.WithWatch, with reconcile.Config[T]) (*reconcile.Reconciler[T], error) {
	with.Roles, with.Manager = author.RolesIn(operon.Manage(o.composer))[0].(author.Roles[T]), Manager
	with.WithoutStatus = o.withoutStatus
	with.Record = reconcile.NewRecord(api, Namespace, Manager)
	if with.Client == nil {
		with.Client, with.Direct = api, api
	}
	if with.Events == nil {
		with.Events = &events.FakeRecorder{}
	}
	return reconcile.New(with)
}

// placed returns a copy of an object. If its kind is namespaced and it has no namespace, the default namespace is set.
func placed[O client.Object](p Place, object O) (O, error) {
	if value := reflect.ValueOf(object); !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil() {
		return object, errors.New("no object: set the Object of the Case or of the Change")
	}
	own, ok := object.DeepCopyObject().(O)
	if !ok {
		return own, fmt.Errorf("the copy of a %T is of another type", object)
	}
	namespaced, err := p.IsObjectNamespaced(own)
	if err == nil && namespaced && (own.GetNamespace() == "" || own.GetNamespace() == Namespace) {
		own.SetNamespace(p.Namespace)
	}
	return own, err
}
