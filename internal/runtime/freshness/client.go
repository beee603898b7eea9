package freshness

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Client returns a client that reads and writes like inner, and reads its own writes. inner reads objects from the cache, except those of
// the uncached kinds. Unstructured objects are read from the API server, which is the default of controller-runtime.
func (o *Overlay) Client(inner client.Client, from cache.Cache, uncached ...client.Object) client.Client {
	c := overlaid{Client: inner, overlay: o, from: from, uncached: map[schema.GroupVersionKind]bool{}}
	for _, example := range uncached {
		if f, err := o.formOf(example); err == nil {
			c.uncached[f.GroupVersionKind] = true
		}
	}
	return c
}

type overlaid struct {
	client.Client
	overlay  *Overlay
	from     cache.Cache
	uncached map[schema.GroupVersionKind]bool
}

// passes reports whether a form is read from the API server.
func (c overlaid) passes(f form) bool { return f.as == loose || c.uncached[f.GroupVersionKind] }

// Get implements client.Reader.
func (c overlaid) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	f, err := c.overlay.formOf(object)
	if err != nil || c.passes(f) {
		return c.Client.Get(ctx, key, object, options...)
	}
	if err := c.overlay.follow(ctx, c.from, f, object); err != nil {
		return err
	}
	view := c.overlay.ledger.View()
	defer view.End()
	err = c.Client.Get(ctx, key, object, options...)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	var cached client.Object
	if err == nil {
		cached = object
	}
	switch newest := view.Newest(objectKey{f, key}, cached); newest {
	case cached:
		return err
	case nil:
		return apierrors.NewNotFound(schema.GroupResource{Group: f.Group, Resource: f.Kind}, key.Name)
	default:
		return resourceclient.Copy(newest.DeepCopyObject(), object)
	}
}

// List implements client.Reader.
func (c overlaid) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	f, err := c.overlay.formOf(list)
	f.Kind = singular(f.Kind)
	if err != nil || c.passes(f) {
		return c.Client.List(ctx, list, options...)
	}
	example, err := c.overlay.example(f)
	if err != nil {
		return err
	}
	if err := c.overlay.follow(ctx, c.from, f, example); err != nil {
		return err
	}
	view := c.overlay.ledger.View()
	defer view.End()
	if err := c.Client.List(ctx, list, options...); err != nil {
		return err
	}
	return c.overlay.merge(f, view, list, options)
}

// Create implements client.Writer.
func (c overlaid) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	dryRun := (&client.CreateOptions{}).ApplyOptions(options).DryRun
	return c.write(object, dryRun, func() error { return c.Client.Create(ctx, object, options...) })
}

// Update implements client.Writer.
func (c overlaid) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	dryRun := (&client.UpdateOptions{}).ApplyOptions(options).DryRun
	return c.write(object, dryRun, func() error { return c.Client.Update(ctx, object, options...) })
}

// Patch implements client.Writer.
func (c overlaid) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	dryRun := (&client.PatchOptions{}).ApplyOptions(options).DryRun
	return c.write(object, dryRun, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// Apply implements client.Writer.
func (c overlaid) Apply(ctx context.Context, wanted runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	object := &unstructured.Unstructured{}
	if err := convert(wanted, object); err != nil {
		return err
	}
	return c.write(object, (&client.ApplyOptions{}).ApplyOptions(options).DryRun, func() error {
		if err := c.Client.Apply(ctx, wanted, options...); err != nil {
			return err
		}
		return convert(wanted, object)
	})
}

// convert converts an apply configuration to an object.
func convert(wanted runtime.ApplyConfiguration, object *unstructured.Unstructured) error {
	data, err := json.Marshal(wanted)
	if err != nil {
		return fmt.Errorf("write %T as JSON: %w", wanted, err)
	}
	object.Object = nil
	return json.Unmarshal(data, &object.Object)
}

// write sends a write whose response is stored in object, and records it for each form in which the kind is read.
func (c overlaid) write(object client.Object, dryRun []string, send func() error) error {
	f, err := c.overlay.formOf(object)
	if err != nil || len(dryRun) > 0 {
		return send()
	}
	name := client.ObjectKeyFromObject(object)
	flights := c.overlay.begin(f.GroupVersionKind, name)
	defer func() {
		for _, flight := range flights {
			flight.Abandoned()
		}
	}()
	err = send()
	made := client.ObjectKeyFromObject(object)
	for f, flight := range flights {
		if made != name { // the API server generated the name, so no watch showed the object to this flight
			flight.Failed()
			flight = c.overlay.ledger.Begin(objectKey{f, made}, 0)
		}
		if answer := c.overlay.copied(f, object); answer != nil && err == nil {
			flight.Wrote(answer)
		} else {
			flight.Failed()
		}
	}
	return err
}

// begin begins a write, in each form in which the kind is read.
func (o *Overlay) begin(kind schema.GroupVersionKind, name types.NamespacedName) map[form]*Flight[objectKey, client.Object] {
	flights := map[form]*Flight[objectKey, client.Object]{}
	for _, f := range []form{{kind, typed}, {kind, metadata}} {
		if watches := o.follows(f); watches != nil && watches.of(objectKey{f, name}) != nil {
			flights[f] = o.ledger.Begin(objectKey{f, name}, 0)
		}
	}
	return flights
}

// copied returns a copy of a response in a form, or nil if that is not possible: then the cache is trusted.
func (o *Overlay) copied(f form, object client.Object) client.Object {
	example, err := o.example(f)
	if err != nil || object.GetResourceVersion() == "" || resourceclient.Copy(object.DeepCopyObject(), example) != nil {
		return nil
	}
	return example
}

// Delete implements client.Writer.
func (c overlaid) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	var all client.DeleteOptions
	all.ApplyOptions(options)
	f, err := c.overlay.formOf(object)
	if err != nil || len(all.DryRun) > 0 {
		return c.Client.Delete(ctx, object, options...)
	}
	name := client.ObjectKeyFromObject(object)
	flights := c.overlay.begin(f.GroupVersionKind, name)
	last := object
	if last.GetUID() == "" || last.GetResourceVersion() == "" {
		last = c.last(ctx, flights, name)
	}
	err = c.Client.Delete(ctx, object, options...)
	for _, flight := range flights {
		if err != nil || last == nil {
			flight.Failed()
			continue
		}
		flight.Deleted(last)
	}
	return err
}

// last returns the object that is read under a name, or nil.
func (c overlaid) last(ctx context.Context, flights map[form]*Flight[objectKey, client.Object], name types.NamespacedName) client.Object {
	for f := range flights {
		object, err := c.overlay.example(f)
		if err == nil && c.Get(ctx, name, object) == nil {
			return object
		}
	}
	return nil
}

// example returns an empty object of a form in which caches are read.
func (o *Overlay) example(f form) (client.Object, error) {
	if f.as == metadata {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(f.GroupVersionKind)
		return object, nil
	}
	made, err := o.scheme.New(f.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", made)
	}
	return object, nil
}

// Status implements client.StatusClient.
func (c overlaid) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c overlaid) SubResource(name string) client.SubResourceClient {
	inner := c.Client.SubResource(name)
	if name != "status" {
		return inner
	}
	return status{inner, c}
}

// status writes the status of objects.
type status struct {
	client.SubResourceClient
	whole overlaid
}

// Update implements client.SubResourceWriter.
func (s status) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	all := (&client.SubResourceUpdateOptions{}).ApplyOptions(options)
	return s.write(object, all.SubResourceBody, all.DryRun, func() error { return s.SubResourceClient.Update(ctx, object, options...) })
}

// Patch implements client.SubResourceWriter.
func (s status) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	all := (&client.SubResourcePatchOptions{}).ApplyOptions(options)
	return s.write(object, all.SubResourceBody, all.DryRun, func() error { return s.SubResourceClient.Patch(ctx, object, patch, options...) })
}

// write sends a write of a status. If there is a body, the response is stored in the body.
func (s status) write(object, body client.Object, dryRun []string, send func() error) error {
	if body != nil {
		return send()
	}
	return s.whole.write(object, dryRun, send)
}
