package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// step executes one step and waits until it is over. It returns false if the run has to end
// with it, because later steps would only show the same again.
func (w *world) step(ctx context.Context, s *workload.Step) (on bool, err error) {
	w.life.at(s.Name)
	w.script.At(s.Name)
	w.deeds = nil
	w.trace.Steps = append(w.trace.Steps, runlog.Step{Name: s.Name, At: time.Now()})
	seen := &w.trace.Steps[len(w.trace.Steps)-1]
	refused, err := w.do(ctx, s)
	if err != nil {
		return false, fmt.Errorf("step %q: %w", s.Name, err)
	}
	seen.Refused = refused
	end, err := w.settle(ctx, s, seen.At)
	seen.Took = time.Since(seen.At)
	seen.Silent, seen.Why = end.Quiescent, end.Why
	seen.State, seen.Events = w.state(), w.scene.Events()
	seen.LastChange = len(w.changes())
	if requests := w.proxy.Record().Requests(); len(requests) > 0 {
		seen.Last = requests[len(requests)-1].Seq
	}
	w.proxy.Mark(ctx, s.Name)
	return err == nil && end.Quiescent && end.Reached, err
}

// do executes the actions of a step. It returns the API server's message if the server rejected them.
func (w *world) do(ctx context.Context, s *workload.Step) (refused string, err error) {
	switch {
	case len(s.Apply) > 0:
		err = w.applyAll(ctx, s.Apply)
	case len(s.Delete) > 0:
		err = w.deleteAll(ctx, s.Delete)
	case s.Fail != nil:
		err = w.fail(ctx, s.Fail)
	case s.Heal:
		err = w.heal(ctx)
	case s.Drift != nil:
		err = w.drift(ctx, s.Drift)
	}
	if refuses(err) {
		return err.Error(), nil
	}
	return "", err
}

// refuses reports whether an error means that the API server rejected the object. Server-side apply reports a value
// of the wrong type as an internal error.
func refuses(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to create typed patch object")
}

func (w *world) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := w.note(object); err != nil {
			return err
		}
		applied, err := w.apply(ctx, object, w.namespace)
		if err != nil {
			return err
		}
		w.deeds = append(w.deeds, applied)
	}
	return nil
}

// deleteAll deletes objects. It deletes them by UID, because a deletion that is repeated after its response was lost would otherwise delete an
// object that the operator has created again.
func (w *world) deleteAll(ctx context.Context, objects []workload.Ref) error {
	for _, one := range objects {
		of, mapping, err := w.resource(schema.FromAPIVersionAndKind(one.APIVersion, one.Kind), one.Namespace, w.namespace)
		if err != nil {
			return err
		}
		found, err := of.Get(ctx, one.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		gone := deedOf(mapping.Resource, found)
		gone.deleted = found.GetUID()
		w.deeds = append(w.deeds, gone)
		if err := w.cluster.DeleteBefore(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) drift(ctx context.Context, d *workload.Drift) error {
	if len(d.Patch) == 0 {
		return w.deleteAll(ctx, []workload.Ref{d.Of})
	}
	err := w.merge(ctx, d.Of, d.Patch)
	if apierrors.IsNotFound(err) {
		return nil // the object does not exist, so it cannot drift
	}
	return err
}

// somebodyElse is the field manager of writes by neither the operator nor the workload.
const somebodyElse = "somebody-else"

// merge changes an object with a JSON merge patch, as a client other than the workload.
func (w *world) merge(ctx context.Context, of workload.Ref, patch map[string]any) error {
	objects, mapping, err := w.resource(schema.FromAPIVersionAndKind(of.APIVersion, of.Kind), of.Namespace, w.namespace)
	if err != nil {
		return err
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	merged, err := objects.Patch(ctx, of.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: somebodyElse})
	if err != nil {
		return err
	}
	w.deeds = append(w.deeds, deedOf(mapping.Resource, merged))
	return nil
}
