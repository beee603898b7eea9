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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/certificate"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// ident identifies a registration.
type ident struct {
	kind schema.GroupVersionKind
	name string
	// foreign objects belong to another manager, and only a part of them is the operator's.
	foreign bool
}

func (i ident) String() string { return i.kind.Kind + " " + i.name }

// asked is the address to which API servers send requests, and the bundle that they trust for it.
type asked struct {
	service types.NamespacedName // empty for a URL
	port    int32                // of the Service
	url     string               // empty for a Service
	path    string
	bundle  []byte
}

// bundler builds a bundle from the existing one.
type bundler func(before []byte) []byte

// registration is an object that configures where API servers send requests, or what they validate.
type registration interface {
	id() ident
	// asked returns the addresses that the operator's part of the object configures.
	asked(live *unstructured.Unstructured) []asked
	// wanted returns what has to be applied, or nil for nothing. live is nil if the object does not exist.
	wanted(live *unstructured.Unstructured, bundle bundler, leads bool) (*unstructured.Unstructured, error)
}

// registry writes registrations.
type registry struct {
	wire     *resourceclient.Wire
	client   client.Client
	operator string
	service  types.NamespacedName // of the operator
	all      []registration
}

// read returns the existing objects, by registration. They are read before the certificates, and
// written by their version: so no replica replaces a bundle by one that is older than what
// another replica has written in the meantime.
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

// carried reports whether every existing bundle has a CA. Bundles for the Service of another instance have that one's.
func (r *registry) carried(found map[ident]*unstructured.Unstructured, id string) bool {
	for _, one := range r.all {
		live := found[one.id()]
		if live == nil {
			continue // it will have the CA when it is created
		}
		for _, who := range one.asked(live) {
			if who.service == r.service && !certificate.Contains(who.bundle, id) {
				return false
			}
		}
	}
	return true
}

// turn holds what a registry needs to know to write.
type turn struct {
	found  map[ident]*unstructured.Unstructured
	bundle bundler
	// leads reports whether this process decides the content of an object. Otherwise it writes only bundles.
	leads bool
	// stands reports whether another process serves for an object, so that nothing must be written.
	stands func(ctx context.Context, one registration, live *unstructured.Unstructured) (bool, error)
	// may is the rate limit of writes.
	may func() bool
}

// write applies the objects that are not as they should be, and reports whether there were any. A failure
// of one does not prevent the others.
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
		if stands, err := t.stands(ctx, one, live); err != nil || stands {
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

// errTaken reports that an object has the name and does not belong to the operator.
var errTaken = errors.New("it exists and was not created by this operator: delete it, or rename the operator")

// mayTake returns an error for an object of that name that another client created: it is not taken over silently.
func (r *registry) mayTake(of ident, live *unstructured.Unstructured) error {
	if live == nil || of.foreign || live.GetLabels()[labelManagedBy] == r.operator || r.manages(live) {
		return nil
	}
	return errTaken
}

// manages reports whether the operator has applied an object whose label another client removed.
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

// remove deletes the objects that the operator registered before and no longer does, except those that are others'.
func (r *registry) remove(ctx context.Context, leftovers []registration, isOthers func(context.Context, []asked) (bool, error)) error {
	for _, one := range leftovers {
		of := one.id()
		live, err := r.get(ctx, of)
		if err != nil {
			return err
		}
		if live == nil || r.mayTake(of, live) != nil {
			continue
		}
		stays, err := isOthers(ctx, one.asked(live))
		if err != nil {
			return err
		}
		if stays {
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
