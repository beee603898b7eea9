package operontest

import (
	"context"
	"fmt"
	"math/rand"
	"path"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// rounds is how many objects RoundTrip makes for each way between two versions.
const rounds = 300

// Conversions are the conversions between the versions of one kind, as something to test:
//
//	operontest.Conversion(&v1.Site{}, &v1beta1.Site{}).CRDs("config/crd").RoundTrip(t)
//
// Guarantees: what a conversion drops, changes, refuses or panics on is found in what its author's
// Go types can hold, if it shows in one of some hundred objects with every field set half of the
// time; what is told is the smallest object that shows it. The same objects are made each time.
// Assumptions: a version is named in TypeMeta, or else by the Go package of its type.
// Caveats: an annotation that a conversion adds, to keep what the other version has no field for,
// is no difference; nor is that between a list that is empty and one that is absent. Rules in CEL
// are not evaluated: see Adjust.
type Conversions struct {
	hub         version
	spokes      []spoke
	definitions []string
	adjust      []func(runtime.Object)
}

// version is one version of the kind, as Go has it.
type version struct {
	schema.GroupVersionKind
	of reflect.Type
}

// spoke is a version with its conversions from and to the hub.
type spoke struct {
	version
	from, to func(source, target runtime.Object) error
}

// Conversion returns the conversions that spokes have as their methods.
func Conversion(hub conversion.Hub, spokes ...conversion.Convertible) *Conversions {
	c := &Conversions{hub: versionOf(hub)}
	for _, s := range spokes {
		c.spokes = append(c.spokes, spoke{
			version: versionOf(s),
			from: func(hub, spoke runtime.Object) error {
				return spoke.(conversion.Convertible).ConvertFrom(hub.(conversion.Hub))
			},
			to: func(spoke, hub runtime.Object) error {
				return spoke.(conversion.Convertible).ConvertTo(hub.(conversion.Hub))
			},
		})
	}
	return c
}

// Converters returns the conversions that controller-runtime's converters do, which API types
// need no methods for.
func Converters[H runtime.Object](hub H, spokes ...webhook.SpokeConverter[H]) *Conversions {
	c := &Conversions{hub: versionOf(hub)}
	for _, s := range spokes {
		c.spokes = append(c.spokes, spoke{
			version: versionOf(s.GetSpoke()),
			from: func(hub, spoke runtime.Object) error {
				return s.ConvertHubToSpoke(context.Background(), hub.(H), spoke)
			},
			to: func(spoke, hub runtime.Object) error {
				return s.ConvertSpokeToHub(context.Background(), spoke, hub.(H))
			},
		})
	}
	return c
}

func versionOf(object runtime.Object) version {
	of := reflect.TypeOf(object).Elem()
	v := version{object.GetObjectKind().GroupVersionKind(), of}
	if v.Version == "" {
		v.Version, v.Kind = path.Base(of.PkgPath()), of.Name()
	}
	return v
}

// empty returns an object of the version, with its kind.
func (v version) empty() runtime.Object {
	object := reflect.New(v.of).Interface().(runtime.Object)
	object.GetObjectKind().SetGroupVersionKind(v.GroupVersionKind)
	return object
}

// CRDs lets objects be what CustomResourceDefinitions in files and folders define: those that are
// made fit the schemas, and what comes of a conversion has its unknown fields dropped and its
// defaults set, as an API server does.
func (c *Conversions) CRDs(paths ...string) *Conversions {
	with := *c
	with.definitions = slices.Concat(c.definitions, paths)
	return &with
}

// Adjust lets a function make objects valid before they are converted, where what makes them so
// is more than a schema says. It is called for objects of all versions.
func (c *Conversions) Adjust(adjust func(runtime.Object)) *Conversions {
	with := *c
	with.adjust = append(slices.Clone(c.adjust), adjust)
	return &with
}

// RoundTrip converts objects of each version to the other and back: hub, spoke, hub and spoke,
// hub, spoke. What does not come back as it was fails the test, once for each way, with the smallest
// object that shows it.
func (c *Conversions) RoundTrip(t testing.TB) {
	t.Helper()
	trips, err := c.trips()
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range trips {
		if err := way.explore(rand.NewSource(1), rounds); err != nil {
			t.Error(err)
		}
	}
}

// Fuzz is RoundTrip as a target of `go test -fuzz`, which makes other objects each time.
func (c *Conversions) Fuzz(f *testing.F) {
	f.Helper()
	trips, err := c.trips()
	if err != nil {
		f.Fatal(err)
	}
	for seed := range 4 {
		f.Add([]byte{byte(seed), 1, 2, 3, 4, 5, 6, 7})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, way := range trips {
			if err := way.explore(sourceOf(data), 1); err != nil && !isUnfit(err) {
				t.Error(err)
			}
		}
	})
}

// trips are the ways there are, two for each spoke.
func (c *Conversions) trips() ([]*trip, error) {
	if len(c.spokes) == 0 {
		return nil, fmt.Errorf("%s has no other version: give Conversion one", c.hub.Kind)
	}
	_, all, err := definedIn(c.definitions)
	if err != nil {
		return nil, err
	}
	var trips []*trip
	for _, s := range c.spokes {
		hub, other := c.hub, s.version
		there, back := s.from, s.to
		for _, from := range []version{hub, other} {
			way := &trip{from: from, through: other, there: there, back: back, adjust: c.adjust}
			if from == other {
				way = &trip{from: from, through: hub, there: back, back: there, adjust: c.adjust}
			}
			if err := way.define(all); err != nil {
				return nil, err
			}
			trips = append(trips, way)
		}
	}
	return trips, nil
}
