package operontest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// journal holds what was written through a client.
type journal struct {
	// namespace is the one that names go without.
	namespace string

	mu     sync.Mutex
	writes []string
}

func (j *journal) note(verb, kind, namespace, name string) {
	if namespace != "" && namespace != j.namespace {
		name = namespace + "/" + name
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writes = append(j.writes, verb+" "+kind+" "+name)
}

// take returns the writes since it was last asked.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	taken := j.writes
	j.writes = nil
	return taken
}

// wrote notes a write that succeeded.
func (j *journal) wrote(c client.Client, verb string, object client.Object, dryRun []string, err error) error {
	if err != nil || len(dryRun) > 0 {
		return err
	}
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return err
	}
	j.note(verb, kind.Kind, object.GetNamespace(), object.GetName())
	return nil
}

// through returns a client that notes what is written through it.
func (j *journal) through(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return j.wrote(c, "create", o, (&client.CreateOptions{}).ApplyOptions(options).DryRun, c.Create(ctx, o, options...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			return j.wrote(c, "change", o, (&client.UpdateOptions{}).ApplyOptions(options).DryRun, c.Update(ctx, o, options...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return j.wrote(c, "change", o, (&client.PatchOptions{}).ApplyOptions(options).DryRun, c.Patch(ctx, o, patch, options...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return j.wrote(c, "delete", o, (&client.DeleteOptions{}).ApplyOptions(options).DryRun, c.Delete(ctx, o, options...))
		},
		Apply: j.apply,
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
			return j.wrote(c, sub, o, nil, c.SubResource(sub).Update(ctx, o, options...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return j.wrote(c, sub, o, nil, c.SubResource(sub).Patch(ctx, o, patch, options...))
		},
	})
}

// apply tells what it made from what it changed.
func (j *journal) apply(ctx context.Context, c client.WithWatch, wanted runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	data, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, object); err != nil {
		return err
	}
	verb := "change"
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()); apierrors.IsNotFound(err) {
		verb = "create"
	}
	return j.wrote(c, verb, object, (&client.ApplyOptions{}).ApplyOptions(options).DryRun, c.Apply(ctx, wanted, options...))
}

// diary holds the events that were sent.
type diary struct {
	mu    sync.Mutex
	notes []string
}

// Eventf notes an event as "Reason: note". It is that of events.EventRecorder.
func (d *diary) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, reason+": "+fmt.Sprintf(note, args...))
}

// take returns the events since it was last asked.
func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.notes
	d.notes = nil
	return taken
}
