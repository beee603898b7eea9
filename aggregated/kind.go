package aggregated

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Served is a kind to serve: see Kind and Review.
type Served interface {
	// add completes what is served, by the types that scheme knows.
	add(scheme *runtime.Scheme) (*served, error)
}

// served is a kind that is served.
type served struct {
	gvk     schema.GroupVersionKind
	plural  string
	types   []runtime.Object // of an object, and of a list
	storage rest.Storage
	// below are the storages of the subresources, by their names.
	below map[string]rest.Storage
}

// kind is a kind before its Go types are looked up.
type kind[T client.Object] struct {
	resource Resource[T]
	// store makes what answers for the kind.
	store func(common[T]) rest.Storage
	// reader has the roles. Nil: that of a Review, which has one.
	reader Reader[T]
}

// Kind serves the objects that a Reader returns. The other interfaces that it implements determine what else
// clients can do with them. The list type, KINDList, must be registered along with the kind.
func Kind[T client.Object](reader Reader[T], resource Resource[T]) Served {
	return &kind[T]{resource: resource, reader: reader, store: func(c common[T]) rest.Storage { return combine(c, reader) }}
}

// Review serves a kind whose objects are questions: Create returns the answer, and nothing is stored or can be
// read.
func Review[T client.Object](creator Creator[T], resource Resource[T]) Served {
	return &kind[T]{resource: resource, store: func(c common[T]) rest.Storage { return &reviewing[T]{c, creator} }}
}

func (k *kind[T]) add(scheme *runtime.Scheme) (*served, error) {
	object := newOf[T]()
	gvk, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, fmt.Errorf("serve %T: %w", object, err)
	}
	s := &served{gvk: gvk, plural: k.resource.Plural, types: []runtime.Object{object}}
	if s.plural == "" {
		s.plural = flect.Pluralize(strings.ToLower(gvk.Kind)) // as controller-gen does
	}
	c := common[T]{resource: k.resource, kind: gvk, group: schema.GroupResource{Group: gvk.Group, Resource: s.plural}}
	if k.reader != nil {
		if err := misses[T](k.reader); err != nil {
			return nil, fmt.Errorf("serve %s: %w", gvk.Kind, err)
		}
		list, err := scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return nil, fmt.Errorf("serve %s: its list type has to be registered, too: %w", gvk.Kind, err)
		}
		c.list, s.types = list, append(s.types, list)
	}
	s.storage, s.below = k.store(c), map[string]rest.Storage{}
	for name, read := range k.resource.Contents {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return nil, fmt.Errorf("serve %s: the subresource %q: %s", gvk.Kind, name, wrong[0])
		}
		s.below[name] = &contents[T]{c, read}
	}
	return s, nil
}

// common is what all storages of a kind have.
type common[T client.Object] struct {
	resource Resource[T]
	kind     schema.GroupVersionKind
	group    schema.GroupResource // of the plural
	list     runtime.Object       // an empty one
}

// New implements rest.Storage.
func (c *common[T]) New() runtime.Object { return newOf[T]() }

// Destroy implements rest.Storage.
func (c *common[T]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (c *common[T]) NamespaceScoped() bool { return !c.resource.ClusterScoped }

// GetSingularName implements rest.SingularNameProvider.
func (c *common[T]) GetSingularName() string { return strings.ToLower(c.kind.Kind) }

// ShortNames implements rest.ShortNamesProvider.
func (c *common[T]) ShortNames() []string { return c.resource.ShortNames }

// Categories implements rest.CategoriesProvider.
func (c *common[T]) Categories() []string { return c.resource.Categories }

// newOf returns an empty T.
func newOf[T client.Object]() T {
	empty, _ := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) // T is a pointer, as all objects are
	return empty
}
