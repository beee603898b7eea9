package external_test

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/operontest"
)

// Bucket is both the desired and the observed state of a bucket.
type Bucket struct{ Region string }

// buckets is a Provider and a Finder: an object store, here in memory. A bucket's ID is its key.
type buckets map[string]Bucket

func (b buckets) Observe(_ context.Context, id string, desired Bucket) (external.Observation[Bucket], error) {
	live, exists := b[id]
	seen := external.Observation[Bucket]{Exists: exists, State: live}
	if exists && live.Region != desired.Region {
		seen.Immutable = []string{"region"}
	}
	return seen, nil
}

func (b buckets) Create(_ context.Context, mark external.Mark, desired Bucket) (string, error) {
	if desired.Region == "" {
		return "", external.AsRefused(errors.New("a bucket needs a region"))
	}
	fmt.Printf("create bucket %s in %s\n", mark.Name, desired.Region)
	b[mark.Key] = desired
	return mark.Key, nil
}

func (buckets) Update(context.Context, string, Bucket) error {
	return errors.New("a bucket has nothing to update")
}

func (b buckets) Delete(_ context.Context, id string) error {
	fmt.Println("delete bucket in", b[id].Region)
	delete(b, id)
	return nil
}

func (b buckets) Find(_ context.Context, key string) (string, error) {
	if _, exists := b[key]; !exists {
		return "", nil
	}
	return key, nil
}

// storage is a composer that declares one bucket for each object.
type storage struct{ provider buckets }

func (storage) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

func (s storage) ComposeExternal(_ context.Context, b *box.Box, out *operon.ExternalComposition) error {
	operon.ExternalKind(out, "bucket", s.provider).Declare("data", Bucket{Region: b.Spec.Data["region"]})
	return nil
}

// An object declares a bucket. The bucket is created with the object and deleted with it.
func ExampleProvider() {
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: box.BoxSpec{Data: map[string]string{"region": "eu-1"}}}
	_, err := operontest.New(storage{buckets{}}, box.AddToScheme).Story(context.Background(), operontest.Case[*box.Box]{
		Object: b,
		Then:   []operontest.Step[*box.Box]{{Do: []operontest.Change{operontest.Delete(b)}}},
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// create bucket data in eu-1
	// delete bucket in eu-1
}

// An operator crashed during a create call. The new process finds a token without an ID, so it looks the
// bucket up by its key and records the ID. It does not create a second bucket.
func ExampleNext() {
	situation := external.Situation{
		Ref:      external.Ref{Kind: "bucket", Name: "data"},
		Declared: true, CanFind: true,
		Recorded: true, Entry: external.Entry{Token: "t1"},
		Attempt: external.Attempt{Called: true},
	}
	fmt.Println(external.Next(situation).Verb)
	situation.Asked, situation.Found = true, "b-42"
	next := external.Next(situation)
	fmt.Println(next.Verb, next.ID)
	// Output:
	// find
	// note b-42
}
