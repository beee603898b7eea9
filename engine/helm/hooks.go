package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/internal/core/plan"
)

// hooked is the composer of a chart with hooks. Each hook is a step that is done once for a revision.
type hooked struct{ *composer }

// wanted identifies a run of hooks. It is stored in the object's journal.
type wanted struct {
	Revision int64  `json:"revision"`
	Digest   string `json:"digest"`
	// First and Last are the names of the hooks before and after the objects are applied.
	First []string `json:"first,omitempty"`
	Last  []string `json:"last,omitempty"`
}

// RunWorkflow implements operon.WorkflowRunner.
func (h *hooked) RunWorkflow(ctx context.Context, object *engine.Object, run *durable.Run) error {
	p := h.begin(object)
	p.blocked = "the hooks of the chart have not run"
	incomplete := false
	r, err := h.release(ctx, object, run, func(generate func(map[string][]byte)) error {
		secret := h.secret(object)
		if _, err := run.Get(ctx, secret); err != nil {
			return err
		}
		data := map[string][]byte{}
		maps.Copy(data, secret.Data)
		generate(data)
		incomplete = len(data) > len(secret.Data)
		return nil
	})
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		return run.Wait(missing.text)
	}
	if err != nil {
		return run.Retry(err) // Compose reports the same
	}
	if incomplete { // Compose stores the values, which hooks may need
		return run.Wait("the values that the chart generates are stored first")
	}
	want, ok, err := due(object, run, r)
	if err != nil || !ok {
		p.blocked = ""
		return err
	}
	current, err := durable.Begin(run, want)
	if err != nil {
		return err
	}
	if current.Digest != want.Digest {
		run.Cancel("a newer revision replaces it")
	}
	return h.take(ctx, object, run, r, current, p)
}

// take executes the steps of a run.
func (h *hooked) take(ctx context.Context, object *engine.Object, run *durable.Run, r *rendered, current wanted, p *pass) error {
	first, last := eventsOf(current.Revision)
	if err := doHooks(ctx, run, object, r, first, current.First); err != nil {
		p.blocked = "hooks: " + err.Error()
		return err
	}
	p.blocked, p.more = "", len(current.Last) > 0
	if len(current.Last) == 0 {
		return nil
	}
	applied := durable.Step[bool]{Name: "apply", Do: func(context.Context, *durable.Attempt) (bool, error) {
		if changed(object, r) {
			return false, durable.Wait("the objects of the chart are being applied")
		}
		return true, nil
	}}
	if _, err := durable.Do(ctx, run, applied); err != nil {
		return err
	}
	return doHooks(ctx, run, object, r, last, current.lastSteps(last))
}

// eventsOf returns the events of a revision, before and after its objects are applied.
func eventsOf(revision int64) (first, last release.HookEvent) {
	if revision > 1 {
		return release.HookPreUpgrade, release.HookPostUpgrade
	}
	return release.HookPreInstall, release.HookPostInstall
}

// due returns the run of hooks that is due for the rendered result. It returns false if none is due.
func due(object *engine.Object, run *durable.Run, r *rendered) (wanted, bool, error) {
	current, begun, err := durable.Current[wanted](run)
	if err != nil {
		return wanted{}, false, err
	}
	want := wanted{Revision: r.revision, Digest: r.digest}
	first, last := eventsOf(r.revision)
	if object.Annotations[annotationPrefix+strings.ToLower(event(r.revision <= 1))+"-disable-hooks"] != "true" {
		want.First, _ = r.hooksOf(first)
		want.Last, _ = r.hooksOf(last)
	}
	switch {
	case begun && current.Digest == r.digest && current.Revision == r.revision:
		return current, true, nil
	case changed(object, r):
		return want, begun || len(want.First)+len(want.Last) > 0, nil
	case begun: // back to the applied revision: the hooks of the other revision are canceled
		return wanted{Revision: r.revision, Digest: r.digest}, true, nil
	}
	return wanted{}, false, nil
}

// lastSteps returns the names of the steps after the objects are applied. The names of steps differ, so that those of hooks that also run before begin
// with the event.
func (w wanted) lastSteps(event release.HookEvent) []string {
	steps := slices.Clone(w.Last)
	for i, name := range steps {
		if slices.Contains(w.First, name) {
			steps[i] = stepPrefix(event) + name
		}
	}
	return steps
}

func stepPrefix(event release.HookEvent) string { return string(event) + " " }

// hooksOf returns the names of the hooks of an event, in the order of Helm, and the hooks. Hooks with one name, which can be in several namespaces,
// are numbered.
func (r *rendered) hooksOf(event release.HookEvent) (names []string, hooks map[string]*release.Hook) {
	hooks = map[string]*release.Hook{}
	for _, hook := range slices.SortedStableFunc(slices.Values(r.hooks), byWeightAndName) {
		if !slices.Contains(hook.Events, event) {
			continue
		}
		name := hookName(hook)
		for n := 2; hooks[name] != nil; n++ {
			name = fmt.Sprintf("%s (%d)", hookName(hook), n)
		}
		names, hooks[name] = append(names, name), hook
	}
	return names, hooks
}

func byWeightAndName(a, b *release.Hook) int {
	return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
}

// skippedHooks returns the names of the hooks that do not run, because the chart did not seem to have any.
func (c *composer) skippedHooks(r *rendered) []string {
	var names []string
	for _, hook := range r.hooks {
		if slices.ContainsFunc(hook.Events, func(event release.HookEvent) bool {
			switch event {
			case release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade:
				return !c.chart.hooks
			case release.HookPreDelete, release.HookPostDelete:
				return !c.chart.deleteHooks
			}
			return false
		}) {
			names = append(names, hookName(hook))
		}
	}
	return names
}

func hookName(hook *release.Hook) string { return hook.Kind + " " + hook.Name }

// doHooks runs the hooks of an event, each of them once, until one fails. In separate steps, it then deletes the objects whose policies require that,
// the last one first, because later hooks need those of earlier ones. A deleted object is not created again after a crash.
func doHooks(ctx context.Context, run *durable.Run, object *engine.Object, r *rendered, event release.HookEvent, steps []string) error {
	_, hooks := r.hooksOf(event)
	hookOf := func(step string) *release.Hook { return hooks[strings.TrimPrefix(step, stepPrefix(event))] }
	ends := map[string]hookEnd{}
	var failed error
	for i, name := range steps {
		ended, err := doHook(ctx, run, object, hookOf(name), name)
		if err != nil {
			return err
		}
		ends[name] = ended
		if ended.Failed != "" {
			failed, steps = fmt.Errorf("hook %s: %s", name, ended.Failed), steps[:i+1]
			break
		}
	}
	for _, name := range slices.Backward(steps) {
		hook, ended := hookOf(name), ends[name]
		if !ended.deletes(hook) {
			continue
		}
		deletion := durable.Step[bool]{Name: name + " is deleted", Do: func(ctx context.Context, a *durable.Attempt) (bool, error) {
			return true, deleteHook(ctx, a.Client, object, hook, ended.UID)
		}}
		if _, err := durable.Do(ctx, run, deletion); err != nil {
			return err
		}
	}
	return failed
}

// doHook runs a hook once.
func doHook(ctx context.Context, run *durable.Run, object *engine.Object, hook *release.Hook, name string) (hookEnd, error) {
	return durable.Do(ctx, run, durable.Step[hookEnd]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (hookEnd, error) {
			end, err := runHook(ctx, a, a.Client, object, hook, a.Key)
			if err == nil && end.Waits != "" {
				return end, durable.Wait(end.Waits)
			}
			return end, err
		},
	})
}

// hookEnd is the result of a hook. The hook succeeded if Waits and Failed are empty.
type hookEnd struct {
	// UID is the UID of the hook's object, if it was created.
	UID string `json:"uid,omitempty"`
	// Waits is the reason why the hook has not ended. Failed is the reason why it failed.
	Waits  string `json:"-"`
	Failed string `json:"failed,omitempty"`
}

// deletes reports whether the policy of a hook deletes its object after this result. CRDs are never deleted: all their objects would be, too.
func (e hookEnd) deletes(hook *release.Hook) bool {
	if hook == nil || isDefinition(hook) {
		return false
	}
	policy := release.HookSucceeded
	if e.Failed != "" {
		policy = release.HookFailed
	}
	return e.UID != "" && has(hook, policy)
}

func isDefinition(hook *release.Hook) bool { return hook.Kind == "CustomResourceDefinition" }

// hookKey is the annotation on a hook's object that identifies the step for which it was created.
const hookKey = "operon.dev/step"

// hookOwnerKey is the annotation on a hook's object that identifies its owner. The object may not have an owner reference, or one that only works
// within a namespace.
const hookOwnerKey = "operon.dev/hook-of"

// runHook creates the object of a hook and reports its progress.
func runHook(ctx context.Context, reader Reader, writer client.Client, owner *engine.Object, hook *release.Hook, key string) (hookEnd, error) {
	if hook == nil {
		return hookEnd{Failed: "the chart no longer renders it"}, nil
	}
	wanted, err := hookObject(owner, hook, key)
	if err != nil {
		return hookEnd{Failed: err.Error()}, nil //nolint:nilerr // it is how the hook ended
	}
	namespaced, err := writer.IsObjectNamespaced(wanted)
	if err != nil {
		return hookEnd{}, err
	}
	if !namespaced {
		wanted.SetNamespace("")
		wanted.SetOwnerReferences(nil) // a custom resource has a namespace and cannot own it
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(wanted.GroupVersionKind())
	found.SetNamespace(wanted.GetNamespace())
	found.SetName(wanted.GetName())
	exists, err := reader.Get(ctx, found)
	switch {
	case err != nil:
		return hookEnd{}, err
	case !exists:
		err := writer.Create(ctx, wanted)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return hookEnd{Failed: err.Error()}, nil
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return hookEnd{}, err
		}
		return hookEnd{Waits: "it has begun"}, nil
	case found.GetAnnotations()[hookKey] == key:
		return endOf(found), nil
	case !isOf(owner, found) && !isSharedDefinition(owner, hook, found):
		return hookEnd{Waits: "another object has its name: delete that, or rename the hook"}, nil
	case isDefinition(hook):
		return hookEnd{UID: string(found.GetUID())}, update(ctx, writer, wanted) // hooks of other releases update it, too: it may have changed before the next look
	case len(hook.DeletePolicies) > 0 && !has(hook, release.HookBeforeHookCreation) && !abandoned(hook, found):
		return hookEnd{Failed: "it exists from an earlier revision, and its deletion policy keeps it"}, nil
	}
	if err := deleteHook(ctx, writer, owner, hook, string(found.GetUID())); err != nil {
		return hookEnd{}, err
	}
	return hookEnd{Waits: "that of an earlier revision is being deleted"}, nil
}

// abandoned reports whether an object belongs to a run of the hook that a newer revision has replaced before its end, or before the object was
// deleted according to the policy of the hook.
func abandoned(hook *release.Hook, found *unstructured.Unstructured) bool {
	if found.GetAnnotations()[hookKey] == "" {
		return false // Helm created it
	}
	end := endOf(found)
	return end.Waits != "" || end.deletes(hook)
}

// isSharedDefinition reports whether a hook is a definition that exists as one of this or another release: it is updated and never deleted, and
// does not belong to a namespace.
func isSharedDefinition(owner *engine.Object, hook *release.Hook, found *unstructured.Unstructured) bool {
	foreign := func(o metav1.OwnerReference) bool { return o.APIVersion != owner.APIVersion || o.Kind != owner.Kind } // earlier versions set that of a custom resource
	return isDefinition(hook) && found.GetAnnotations()[release.HookAnnotation] != "" && !slices.ContainsFunc(found.GetOwnerReferences(), foreign)
}

// update changes an object that exists to what is wanted.
func update(ctx context.Context, writer client.Client, wanted *unstructured.Unstructured) error {
	if err := unstructured.SetNestedField(wanted.Object, nil, "metadata", "ownerReferences"); err != nil { // earlier versions set them
		return err
	}
	changes, err := wanted.MarshalJSON()
	if err != nil {
		return err
	}
	return writer.Patch(ctx, wanted, client.RawPatch(types.MergePatchType, changes))
}

// isOf reports whether an object was created for owner, or for an earlier object of the same name: as a hook, or as an object of the chart, which an
// earlier version of it may have been. Names of owners are not enough, because objects in other namespaces have the same.
func isOf(owner *engine.Object, found *unstructured.Unstructured) bool {
	if found.GetAnnotations()[hookOwnerKey] == hookOwner(owner) {
		return true
	}
	owners := found.GetOwnerReferences()
	if len(owners) == 0 {
		return found.GetLabels()[plan.OwnerLabel] == string(owner.UID) || isHelms(owner, found)
	}
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == owner.UID })
}

// isHelms reports whether Helm may have created a hook for the release of owner. Helm does not write on hooks which release they belong to, so that
// only those in the namespace of the release are certain enough.
func isHelms(owner *engine.Object, found *unstructured.Unstructured) bool {
	annotations := found.GetAnnotations()
	return annotations[release.HookAnnotation] != "" && annotations[hookOwnerKey] == "" && found.GetNamespace() == owner.Namespace &&
		cmp.Or(annotations[releaseAnnotation], owner.Name) == owner.Name && cmp.Or(annotations[releaseNSAnnotation], owner.Namespace) == owner.Namespace
}

// hookOwner identifies an owner, and later ones with its name.
func hookOwner(owner *engine.Object) string {
	return fmt.Sprintf("%s/%s/%s", owner.GroupVersionKind().GroupKind(), owner.Namespace, owner.Name)
}

func has(hook *release.Hook, policy release.HookDeletePolicy) bool {
	return slices.Contains(hook.DeletePolicies, policy)
}

// hookObject returns the object of a hook. Deleting the owner deletes it, too, unless it is to be kept or holds data.
func hookObject(owner *engine.Object, hook *release.Hook, key string) (*unstructured.Unstructured, error) {
	objects, err := parse(hook.Manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hook.Path, err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s: a hook must be one object", hook.Path)
	}
	object := objects[0]
	annotations := object.GetAnnotations()
	annotations[hookKey], annotations[hookOwnerKey] = key, hookOwner(owner)
	object.SetAnnotations(annotations)
	if object.GetNamespace() == "" {
		object.SetNamespace(owner.Namespace)
	}
	if object.GetNamespace() == owner.Namespace && !isKept(object) && object.GetKind() != "PersistentVolumeClaim" {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
		}})
	}
	return object, nil
}

// endOf returns the progress of a hook. An object that is neither a Job nor a Pod is done when it exists.
func endOf(found *unstructured.Unstructured) hookEnd {
	end := hookEnd{UID: string(found.GetUID())}
	done := true
	switch found.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		done, end.Failed = jobEnd(found)
	case "Pod":
		phase, _, _ := unstructured.NestedString(found.Object, "status", "phase")
		done = phase == "Succeeded"
		if phase == "Failed" {
			message, _, _ := unstructured.NestedString(found.Object, "status", "message")
			end.Failed = strings.TrimSpace("its phase is Failed " + message)
		}
	}
	if !done && end.Failed == "" {
		end.Waits = "it has not finished"
	}
	return end
}

// jobEnd reports whether a Job is complete, or why it failed.
func jobEnd(job *unstructured.Unstructured) (done bool, failure string) {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["status"] != "True" {
			continue
		}
		switch condition["type"] {
		case "Complete":
			return true, ""
		case "Failed":
			return false, fmt.Sprintf("%v: %v", condition["reason"], condition["message"])
		}
	}
	return false, ""
}

// deleteHook deletes the object of a hook, unless it was replaced in the meantime.
func deleteHook(ctx context.Context, writer client.Client, owner *engine.Object, hook *release.Hook, uid string) error {
	object, err := hookObject(owner, hook, "")
	if err != nil {
		return err
	}
	known := metav1.NewUIDPreconditions(uid)
	err = writer.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: known.UID})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

var _ operon.WorkflowRunner[*engine.Object] = (*hooked)(nil)
