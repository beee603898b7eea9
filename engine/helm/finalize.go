package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/internal/core/plan"
)

// deleting is the composer of a chart with hooks before or after a deletion.
type deleting struct{ *hooked }

const reasonHookFailed = "HookFailed"

// Finalize implements operon.Finalizer. It runs the hooks before the deletion. If there are hooks after the deletion, it also
// deletes the objects and then runs those hooks. A chart that can no longer be rendered does not prevent the deletion, except if
// only the permission to look something up is missing.
func (d *deleting) Finalize(ctx context.Context, object *engine.Object, out *operon.Finalization) error {
	if object.Annotations[annotationPrefix+"uninstall-disable-hooks"] == "true" || object.Status.DeployedRelease == nil {
		return nil
	}
	r, err := d.release(ctx, object, out, func(generate func(map[string][]byte)) error {
		secret := d.secret(object)
		_, err := out.Get(ctx, secret)
		data := secret.Data
		if data == nil {
			data = map[string][]byte{}
		}
		generate(data)
		return err
	})
	terminal, missing := (interface{ Stalled() string })(nil), (*missingError)(nil)
	if err != nil && !errors.As(err, &terminal) && !errors.As(err, &missing) { // missing values were probably deleted together with the object
		return err
	}
	if terminal != nil && terminal.Stalled() == ReasonForbiddenLookup { // the hooks would run if it were allowed
		return fmt.Errorf("%w; to delete the object without the hooks of the deletion, set the annotation %suninstall-disable-hooks to \"true\"", err, annotationPrefix)
	}
	if err != nil {
		out.Warning(ReasonChartError, fmt.Sprintf("The hooks of the deletion are skipped: %v", err))
		return nil
	}
	return d.uninstall(ctx, object, out, r)
}

func (d *deleting) uninstall(ctx context.Context, object *engine.Object, out *operon.Finalization, r *rendered) error {
	done, err := deleteHooks(ctx, object, out, r, release.HookPreDelete)
	if !done || err != nil {
		return err
	}
	if after, _ := r.hooksOf(release.HookPostDelete); len(after) > 0 {
		gone, err := deleteObjects(ctx, object, out, r)
		if !gone || err != nil {
			return err
		}
		if done, err = deleteHooks(ctx, object, out, r, release.HookPostDelete); !done || err != nil {
			return err
		}
	}
	return d.tidy(ctx, object, out, r)
}

// tidy deletes the objects of the hooks of the deletion that garbage collection does not reach, if their policies require that. It comes last: no hook
// runs again.
func (d *deleting) tidy(ctx context.Context, owner *engine.Object, out *operon.Finalization, r *rendered) error {
	for _, event := range []release.HookEvent{release.HookPostDelete, release.HookPreDelete} {
		names, hooks := r.hooksOf(event)
		for _, name := range slices.Backward(names) {
			hook := hooks[name]
			if !has(hook, release.HookSucceeded) || isDefinition(hook) {
				continue
			}
			object, err := hookObject(owner, hook, "")
			if err != nil {
				continue // it was not created either
			}
			namespaced, err := out.Client().IsObjectNamespaced(object)
			if meta.IsNoMatchError(err) || err == nil && namespaced && object.GetNamespace() == owner.Namespace {
				continue
			}
			if err != nil {
				return err
			}
			exists, err := out.Get(ctx, object)
			if err != nil {
				return err
			}
			if !exists || object.GetAnnotations()[hookKey] != deletionKey(event, hook, owner) {
				continue
			}
			if err := deleteHook(ctx, out.Client(), owner, hook, string(object.GetUID())); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletionKey identifies the run of a hook of the deletion of an object. One of both events runs once: what is left of the first run must not look like
// no run.
func deletionKey(event release.HookEvent, hook *release.Hook, owner *engine.Object) string {
	if slices.Contains(hook.Events, release.HookPreDelete) {
		event = release.HookPreDelete
	}
	return string(event) + "-" + string(owner.UID)
}

// deleteHooks runs the hooks of an event and reports whether all have ended. Their objects remain until garbage collection
// deletes them with their owner, or tidy does, whatever their policy is, so that none is created twice.
func deleteHooks(ctx context.Context, object *engine.Object, out *operon.Finalization, r *rendered, event release.HookEvent) (bool, error) {
	names, hooks := r.hooksOf(event)
	for _, name := range names {
		end, err := runHook(ctx, out, out.Client(), object, hooks[name], deletionKey(event, hooks[name], object))
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			out.Warning(reasonHookFailed, fmt.Sprintf("hook %s is skipped, because its namespace is being deleted", name))
		case err != nil:
			return false, fmt.Errorf("hook %s: %w", name, err)
		case end.Waits != "":
			out.Wait(reasonHooks, fmt.Sprintf("hook %s: %s", name, end.Waits))
			return false, nil
		case end.Failed != "":
			out.Fail(reasonHookFailed, fmt.Sprintf("hook %s: %s; to delete the object nevertheless, set the annotation %suninstall-disable-hooks to \"true\"", name, end.Failed, annotationPrefix))
			return false, nil
		}
	}
	return true, nil
}

// deleteObjects deletes the objects of a release in reverse order, and reports whether they are gone.
func deleteObjects(ctx context.Context, object *engine.Object, out *operon.Finalization, r *rendered) (bool, error) {
	gone := true
	for _, rendered := range slices.Backward(r.objects) {
		if isKept(rendered) {
			continue
		}
		live := &unstructured.Unstructured{} // the response of the deletion may be the object, and no scheme may contain its kind
		live.SetGroupVersionKind(rendered.GroupVersionKind())
		live.SetNamespace(rendered.GetNamespace())
		live.SetName(rendered.GetName())
		exists, err := out.Get(ctx, live)
		if err != nil {
			return false, err
		}
		if !exists || live.GetLabels()[plan.OwnerLabel] != string(object.UID) {
			continue
		}
		gone = false
		out.Wait(reasonHooks, fmt.Sprintf("%s %s is being deleted", rendered.GetKind(), rendered.GetName()))
		uid := live.GetUID()
		err = out.Client().Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
	}
	return gone, nil
}

var _ operon.Finalizer[*engine.Object] = (*deleting)(nil)
