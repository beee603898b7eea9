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

// rounds is the number of valid objects that RoundTrip creates for each direction between two versions.
const rounds = 300

// Conversions tests the conversions between the versions of one kind:
//
//	operontest.Conversion(&v1.Site{}, &v1beta1.Site{}).CRDs("config/crd").RoundTrip(t)
//
// Guarantees: for objects that the author's Go types can represent, it finds what a conversion drops, changes, rejects or
// panics on, if one of some hundred objects shows it. In each of them, every field is set with a probability of one half. It
// reports the smallest object that shows the problem. The objects are the same in each run. Assumptions: a version is named
// in TypeMeta, or else by the Go package of its type; TypeMeta also states the group if several groups have the kind. Caveats: an annotation that a conversion adds, to keep fields that the
// other version does not have, is not a difference. Neither is the difference between an empty list and an absent one. CEL
// rules are not evaluated: see Adjust.
type Conversions struct {
	hub         version
	spokes      []spoke
	definitions []string
	adjust      []func(runtime.Object)
}

// version is a version of the kind with its Go type.
type version struct {
	schema.GroupVersionKind
	of reflect.Type
}

// spoke is a version with its conversions from and to the hub.
type spoke struct {
	version
	from, to func(source, target runtime.Object) error
}

// Conversion returns the conversions that are methods of the spokes.
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

// Converters returns the conversions of controller-runtime's converters, for which API types need no methods.
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

// CRDs reads CRDs from files and directories. Generated objects then match their schemas. As in an API server,
// unknown fields are dropped from the result of a conversion, and its defaults are set.
func (c *Conversions) CRDs(paths ...string) *Conversions {
	with := *c
	with.definitions = slices.Concat(c.definitions, paths)
	return &with
}

// Adjust sets a function that makes objects valid before they are converted, if a schema is not enough to do so.
// It is called for objects of all versions.
func (c *Conversions) Adjust(adjust func(runtime.Object)) *Conversions {
	with := *c
	with.adjust = append(slices.Clone(c.adjust), adjust)
	return &with
}

// RoundTrip converts objects of each version to the other and back: from hub to spoke to hub, and from spoke to
// hub to spoke. An object that does not return unchanged fails the test, once for each direction, with the
// smallest object that shows the problem.
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

// fitTries is how many objects are made to see whether any is valid.
const fitTries = 100

// Fuzz is RoundTrip as a target of `go test -fuzz`, which generates other objects in each run.
func (c *Conversions) Fuzz(f *testing.F) {
	f.Helper()
	trips, err := c.trips()
	if err != nil {
		f.Fatal(err)
	}
	for _, way := range trips {
		if err := way.explore(sourceOf([]byte{1}), fitTries); isUnfit(err) {
			f.Fatal(err) // otherwise the target would pass without an object
		}
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

// trips returns the possible round trips, two for each spoke.
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
