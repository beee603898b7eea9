package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// ident tells registrations apart.
type ident struct {
	kind schema.GroupVersionKind
	name string
	// foreign objects are another client's, and only a part of them is the operator's.
	foreign bool
}

func (i ident) String() string { return i.kind.Kind + " " + i.name }

// asked is whom API servers are told to ask, and whom they trust for that.
type asked struct {
	url    string // empty for a Service
	path   string // of webhooks
	bundle []byte
}

// bundler makes a bundle of the one that there is.
type bundler func(before []byte) []byte

// registration is an object that tells API servers whom to ask, or what to judge.
type registration interface {
	id() ident
	// asked is whom the object tells API servers to ask, of what is the operator's in it.
	asked(live *unstructured.Unstructured) []asked
	// wanted returns what is to be applied, nil for nothing. Live is nil where there is no object.
	wanted(live *unstructured.Unstructured, bundle bundler, leads bool) (*unstructured.Unstructured, error)
}

// registry brings registrations about.
type registry struct {
	wire     *resourceclient.Wire
	client   client.Client
	operator string
	all      []registration
}

// read returns the objects that there are, by registration. They are read before the certificates, and
// written by their version: so nobody replaces a bundle by one that is older than what
// another client has written in the meantime.
func (r *registry) read(ctx context.Context) (map[ident]*unstructured.Unstructured, error) {
	found := map[ident]*unstructured.Unstructured{}
	for _, one := range r.all {
		live, err := r.get(ctx, one.id())
		if err != nil {
			return nil, err
		}
		found[one.id()] = live
	}
	return found, nil
}

func (r *registry) get(ctx context.Context, of ident) (*unstructured.Unstructured, error) {
	endpoint, err := r.wire.Endpoint(of.kind, resourceclient.Loose)
	if err != nil {
		return nil, err
	}
	live, err := endpoint.Get(ctx, "", of.name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", of, err)
	}
	object, ok := live.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("read %s: got a %T", of, live)
	}
	return object, nil
}

// carried reports whether every bundle that there is has a CA.
func (r *registry) carried(found map[ident]*unstructured.Unstructured, id string) bool {
	for _, one := range r.all {
		live := found[one.id()]
		if live == nil {
			continue // it will have it when it comes
		}
		for _, who := range one.asked(live) {
			if !contains(who.bundle, id) {
				return false
			}
		}
	}
	return true
}

func contains(bundle []byte, id string) bool {
	certs, err := parseCertificates(bundle)
	if err != nil {
		return false
	}
	for _, cert := range certs {
		if idOf(cert) == id {
			return true
		}
	}
	return false
}

// turn is what a registry needs to know to write.
type turn struct {
	found  map[ident]*unstructured.Unstructured
	bundle bundler
	// leads reports whether this process says what is in an object. Without: only bundles.
	leads bool
	// stands reports whether another process stands in an object's place, and nothing is to be written.
	stands func(context.Context, []asked) (bool, error)
	// may bounds how often is written.
	may func() bool
}

// write applies what is not as it should be, and reports whether there was anything. One that fails
// keeps none of the others.
func (r *registry) write(ctx context.Context, t turn) (wrote bool, err error) {
	var failed []error
	for _, one := range r.all {
		did, err := r.writeOne(ctx, t, one)
		if err != nil {
			failed = append(failed, fmt.Errorf("register %s: %w", one.id(), err))
		}
		wrote = wrote || did
	}
	return wrote, errors.Join(failed...)
}

func (r *registry) writeOne(ctx context.Context, t turn, one registration) (bool, error) {
	live := t.found[one.id()]
	if err := r.mayTake(one.id(), live); err != nil {
		return false, err
	}
	if live != nil {
		if stands, err := t.stands(ctx, one.asked(live)); err != nil || stands {
			return false, err
		}
	}
	want, err := one.wanted(live, t.bundle, t.leads)
	if err != nil || want == nil {
		return false, err
	}
	if !t.may() {
		return false, errContest
	}
	return true, r.apply(ctx, one.id(), live, want)
}

var errContest = errors.New("another writer keeps changing it; backing off. Is another version of the operator, or a CA injector, running?")

// errTaken reports that an object has the name and is not the operator's.
var errTaken = errors.New("it exists and was not created by this operator: delete it, or rename the operator")

// mayTake: what another client made under the name is not taken silently.
func (r *registry) mayTake(of ident, live *unstructured.Unstructured) error {
	if live == nil || of.foreign || live.GetLabels()[labelManagedBy] == r.operator || r.manages(live) {
		return nil
	}
	return errTaken
}

// manages reports whether the operator has applied an object, whose label somebody removed.
func (r *registry) manages(live *unstructured.Unstructured) bool {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == r.operator && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

func (r *registry) apply(ctx context.Context, of ident, live, want *unstructured.Unstructured) error {
	endpoint, err := r.wire.Endpoint(of.kind, resourceclient.Loose)
	if err != nil {
		return err
	}
	if live != nil {
		want.SetResourceVersion(live.GetResourceVersion())
	}
	body, err := json.Marshal(want.Object)
	if err != nil {
		return err
	}
	_, err = endpoint.Apply(ctx, "", of.name, body, metav1.PatchOptions{FieldManager: r.operator, Force: new(true)})
	return err
}

// remove deletes what the operator registered once and does no longer.
func (r *registry) remove(ctx context.Context, leftovers []ident) error {
	for _, of := range leftovers {
		live, err := r.get(ctx, of)
		if err != nil {
			return err
		}
		if live == nil || r.mayTake(of, live) != nil {
			continue
		}
		uid := live.GetUID()
		err = r.client.Delete(ctx, live, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove %s: %w", of, err)
		}
	}
	return nil
}
