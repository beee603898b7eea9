package operontest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// journal records the writes through a client.
type journal struct {
	// namespace is the namespace that is omitted from names.
	namespace string

	mu      sync.Mutex
	writes  []string
	refused map[string]error
}

// name returns the name of a write in a case.
func (j *journal) name(verb, kind, namespace, name string) string {
	if namespace != "" && namespace != j.namespace {
		name = namespace + "/" + name
	}
	return verb + " " + kind + " " + name
}

func (j *journal) note(write string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writes = append(j.writes, write)
}

// all returns the writes since the last call of take.
func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.writes)
}

// take returns the writes since the last call of take.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	taken := j.writes
	j.writes = nil
	return taken
}

// refuse makes a write fail from now on. A nil error ends this.
func (j *journal) refuse(write string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refused == nil {
		j.refused = map[string]error{}
	}
	j.refused[write] = err
}

// pass sends a write unless it has to be rejected, and records it if it succeeds.
func (j *journal) pass(c client.Client, verb string, object client.Object, dryRun []string, send func() error) error {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return err
	}
	return j.send(j.name(verb, kind.Kind, object.GetNamespace(), object.GetName()), dryRun, send)
}

// send is pass for a write with a name.
func (j *journal) send(write string, dryRun []string, send func() error) error {
	j.mu.Lock()
	refused := j.refused[write]
	j.mu.Unlock()
	if refused != nil {
		return refused
	}
	if err := send(); err != nil || len(dryRun) > 0 {
		return err
	}
	j.note(write)
	return nil
}

// through returns a client that records the writes through it.
func (j *journal) through(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			dry := (&client.CreateOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, "create", o, dry, func() error { return c.Create(ctx, o, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			dry := (&client.UpdateOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, "change", o, dry, func() error { return c.Update(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			dry := (&client.PatchOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, "change", o, dry, func() error { return c.Patch(ctx, o, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			dry := (&client.DeleteOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, "delete", o, dry, func() error { return c.Delete(ctx, o, options...) })
		},
		DeleteAllOf: j.deleteAllOf,
		Apply:       j.apply,
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object, options ...client.SubResourceCreateOption) error {
			dry := (&client.SubResourceCreateOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, sub, o, dry, func() error { return c.SubResource(sub).Create(ctx, o, body, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, wanted runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			o, err := applied(wanted)
			if err != nil {
				return err
			}
			dry := (&client.SubResourceApplyOptions{}).ApplyOpts(options).DryRun
			return j.pass(c, sub, o, dry, func() error { return c.SubResource(sub).Apply(ctx, wanted, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
			dry := (&client.SubResourceUpdateOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, sub, o, dry, func() error { return c.SubResource(sub).Update(ctx, o, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			dry := (&client.SubResourcePatchOptions{}).ApplyOptions(options).DryRun
			return j.pass(c, sub, o, dry, func() error { return c.SubResource(sub).Patch(ctx, o, patch, options...) })
		},
	})
}

// apply distinguishes creations from changes.
func (j *journal) apply(ctx context.Context, c client.WithWatch, wanted runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	object, err := applied(wanted)
	if err != nil {
		return err
	}
	verb := "change"
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()); apierrors.IsNotFound(err) {
		verb = "create"
	}
	dry := (&client.ApplyOptions{}).ApplyOptions(options).DryRun
	return j.pass(c, verb, object, dry, func() error { return c.Apply(ctx, wanted, options...) })
}

// applied returns the object that a configuration describes.
func applied(wanted runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(data, object)
}

// every is the name of the objects of a write that deletes all objects of a kind, or those that a selector matches.
const every = "*"

func (j *journal) deleteAllOf(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteAllOfOption) error {
	kind, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return err
	}
	chosen := (&client.DeleteAllOfOptions{}).ApplyOptions(options)
	return j.send(j.name("delete", kind.Kind, chosen.Namespace, every), chosen.DryRun, func() error { return c.DeleteAllOf(ctx, o, options...) })
}

// diary records the sent events.
type diary struct {
	mu    sync.Mutex
	notes []string
}

// Eventf implements events.EventRecorder. It records an event as "Reason: note".
func (d *diary) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, reason+": "+fmt.Sprintf(note, args...))
}

// take returns the events since the last call.
func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.notes
	d.notes = nil
	return taken
}
