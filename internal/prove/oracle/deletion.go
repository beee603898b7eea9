package oracle

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// deletable checks whether objects that had to be deleted no longer exist at the end of a step.
func deletable(m *moment) []finding.Finding {
	for _, object := range m.step.State {
		if object.GetDeletionTimestamp() == nil || normalize.IsEnding(object) {
			continue
		}
		if m.wants() && m.normal.stuck(m.at, object) {
			continue
		}
		if m.wants() || m.deletes(object) || m.settled() {
			return []finding.Finding{{
				Property: finding.Deletable, Of: m.ref(object),
				Message: fmt.Sprintf("a %s cannot be deleted: the finalizer %s stays", object.GetKind(), strings.Join(object.GetFinalizers(), ", ")),
			}}
		}
	}
	for _, object := range m.step.State {
		if m.deletes(object) && object.GetDeletionTimestamp() == nil && m.wasGone(object) {
			return []finding.Finding{{
				Property: finding.Deletable, Of: m.ref(object),
				Message: fmt.Sprintf("a %s exists again after it was deleted", object.GetKind()),
			}}
		}
	}
	return nil
}

// deletes reports whether the step has to delete an object.
func (m *moment) deletes(object *unstructured.Unstructured) bool {
	for _, ref := range m.does.Delete {
		if isOf(ref, object) {
			return true
		}
	}
	return false
}

// wasGone reports whether an object that exists at the end of the step was deleted in it.
func (m *moment) wasGone(object *unstructured.Unstructured) bool {
	for _, change := range m.run.changes(m.i) {
		if change.Type == deleted && change.Kind == object.GetKind() && change.Name == object.GetName() {
			return true
		}
	}
	return false
}

// stuck reports whether an object of the same kind waits for finalizers at the end of a step.
func (r *run) stuck(i int, like *unstructured.Unstructured) bool {
	for _, object := range r.Steps[i].State {
		if object.GetKind() == like.GetKind() && object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) > 0 {
			return true
		}
	}
	return false
}

// ref returns a reference to an object of the cluster in the form that findings use.
func (m *moment) ref(object *unstructured.Unstructured) *workload.Ref {
	for _, one := range m.state().Objects {
		if one.Live() == object {
			return refTo(one)
		}
	}
	return &workload.Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: m.run.world.Neutral(object.GetName())}
}

// nothingLeft checks the objects that exist after the last custom resource was deleted. The operator's own
// objects should not exist. Claims may remain, because data may outlive the object that uses it. Objects created before
// the first custom resource belong to the operator itself.
func nothingLeft(m *moment) []finding.Finding {
	if len(m.does.Delete) == 0 || !m.settled() || m.normal != nil {
		return nil // with faults, the comparison finds the remaining objects
	}
	var left []*normalize.Object
	for _, one := range m.state().Objects {
		switch {
		case one.ByUser && normalize.IsCustom(one.Live().GroupVersionKind().GroupKind()):
			return nil // a custom resource of the user still exists
		case one.ByOperator && !one.ByUser && one.Kind != "PersistentVolumeClaim" && !m.run.before(one):
			left = append(left, one)
		}
	}
	if len(left) == 0 {
		return nil
	}
	f := finding.Finding{Property: finding.NothingLeft, Of: refTo(left[0])}
	f.Message = fmt.Sprintf("a %s remains after the deletion", left[0].Kind)
	for _, one := range left {
		f.Diff = append(f.Diff, finding.Difference{Of: one.String(), Got: `"exists"`})
	}
	return []finding.Finding{f}
}

// before reports whether an object existed before the workload began.
func (r *run) before(o *normalize.Object) bool {
	for _, change := range r.Changes {
		if change.UID == string(o.Live().GetUID()) && change.Type == added {
			return change.At.Before(r.Steps[0].At)
		}
	}
	return true // its creation was not recorded
}

const (
	added   = "ADDED"
	deleted = "DELETED"
)
