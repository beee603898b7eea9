package oracle

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// bearsData reports whether deleting an object of a kind loses data, even if the object is recreated.
func bearsData(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return true
	}
	return normalize.IsCustom(kind)
}

// dataKept checks the deletions of a step.
func dataKept(m *moment) []finding.Finding {
	if m.normal == nil {
		return claimsKept(m)
	}
	if m.at < 0 {
		return nil
	}
	normal, _ := m.normal.deletions(m.at)
	now, last := m.run.deletions(m.i)
	before, _ := m.run.deletions(m.i - 1)
	normalBefore, _ := m.normal.deletions(m.at - 1)
	for id, times := range now {
		was, known := normal[id]
		if more := times - was; !known || more <= max(0, before[id]-normalBefore[id]) {
			continue
		}
		change := last[id]
		if m.refs.replaces(change) {
			continue
		}
		return []finding.Finding{m.lost(change)}
	}
	return nil
}

// replaces reports whether the operator, without faults and although nothing is deleted, deletes custom resources of a kind that
// it created itself: then they are steps of its work and not data, such as the request for a certificate.
func (refs *References) replaces(change runlog.Change) bool {
	kind := schema.FromAPIVersionAndKind(change.APIVersion, change.Kind).GroupKind()
	return normalize.IsCustom(kind) && slices.ContainsFunc(refs.base, func(r *run) bool {
		for i := range r.Steps {
			if len(r.does(i).Delete) == 0 && slices.ContainsFunc(r.requests(i), func(one requestlog.Request) bool {
				return one.Verb == "delete" && changed(&one) && one.Group == kind.Group && one.Resource == change.Resource && r.made(&one)
			}) {
				return true
			}
		}
		return false
	})
}

// claimsKept checks a run without faults. An operator may delete a claim, but if it recreates the claim, the data is lost.
// That is reported as a design decision if the spec did not request the claim in between.
func claimsKept(m *moment) []finding.Finding {
	if len(m.does.Delete) > 0 || m.does.Drift != nil {
		return nil
	}
	var dropped []finding.Finding
	for _, change := range m.run.changes(m.i) {
		if change.Type != deleted || change.Kind != claim || !m.run.madeAgain(change) {
			continue
		}
		f := m.lost(change)
		if !m.asksToDrop(change) {
			return []finding.Finding{f}
		}
		f.Level, f.Message = finding.Note, "a PersistentVolumeClaim is deleted when the spec no longer asks for it; asked for again, it is empty"
		dropped = []finding.Finding{f}
	}
	return dropped
}

// asksToDrop reports whether the spec of the step does not request a claim that was deleted in it. Such a claim does not
// exist at the end of the step, and neither in a fresh namespace with the same objects nor at the end of the step that
// this one leads back to.
func (m *moment) asksToDrop(gone runlog.Change) bool {
	name := m.run.world.Neutral(gone.Name)
	if !m.settled() || m.run.hasClaim(m.i, name) {
		return false
	}
	if i := m.run.index(m.does.Same); m.does.Same != "" && i >= 0 && i < m.i {
		return m.run.Steps[i].Silent && !m.run.hasClaim(i, name)
	}
	fresh := m.refs.fresh[m.step.Name]
	return m.does.Fresh && fresh != nil && fresh.silentState(m.step.Name) != nil && !fresh.hasClaim(fresh.index(m.step.Name), name)
}

// hasClaim reports whether a claim exists at the end of a step.
func (r *run) hasClaim(i int, name string) bool {
	return slices.ContainsFunc(r.Steps[i].State, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == claim && r.world.Neutral(object.GetName()) == name && object.GetDeletionTimestamp() == nil
	})
}

func (m *moment) lost(change runlog.Change) finding.Finding {
	f := finding.Finding{Property: finding.DataKept, Of: m.run.refOf(change)}
	f.Message = fmt.Sprintf("a %s is deleted together with its data", change.Kind)
	f.Diff = []finding.Difference{{Of: f.Of.Kind + "/" + f.Of.Name, Want: `"kept"`, Got: `"deleted"`}}
	if m.run.madeAgain(change) {
		f.Message = fmt.Sprintf("a %s is deleted and recreated without its data", change.Kind)
		f.Diff[0].Got = `"deleted and recreated"`
	}
	return f
}

// madeAgain reports whether an object with the same name was created after one was deleted.
func (r *run) madeAgain(gone runlog.Change) bool {
	for _, change := range r.Changes {
		if change.Type == added && change.Kind == gone.Kind && change.Name == gone.Name && change.UID != gone.UID && !change.At.Before(gone.At) {
			return true
		}
	}
	return false
}

func (r *run) refOf(change runlog.Change) *workload.Ref {
	return &workload.Ref{APIVersion: change.APIVersion, Kind: change.Kind, Name: r.world.Neutral(change.Name)}
}

// deletions returns how often each data-bearing object was deleted until the end of a step, and its last
// deletion. An object that was not deleted is included with 0. Generated names are left out: if two
// objects were created by mistake, one has to be deleted. Objects that were deleted with their owner are
// not counted either, because that depends on when the garbage collector runs.
func (r *run) deletions(i int) (times map[string]int, last map[string]runlog.Change) {
	times, last = map[string]int{}, map[string]runlog.Change{}
	// When an object was created, when an object with a name was deleted, and whether an object with the name exists.
	made, gone, there := map[string]int{}, map[string]int{}, map[string]bool{}
	if i < 0 {
		return times, last
	}
	for at, change := range r.Changes[:min(r.Steps[i].LastChange, len(r.Changes))] {
		withOwner := false
		switch change.Type {
		case added:
			made[change.UID], there[change.Kind+"/"+change.Name] = at, true
		case deleted:
			ended, known := gone[change.Owner]
			withOwner = known && (ended > made[change.UID] || !there[change.Owner])
			gone[change.Kind+"/"+change.Name], there[change.Kind+"/"+change.Name] = at, false
		}
		kind := schema.FromAPIVersionAndKind(change.APIVersion, change.Kind).GroupKind()
		if !bearsData(kind) || change.GenerateName != "" {
			continue
		}
		id := kind.String() + " " + r.world.Neutral(change.Namespace) + "/" + r.world.Neutral(change.Name)
		if times[id] += 0; change.Type == deleted && !withOwner {
			times[id]++
			last[id] = change
		}
	}
	return times, last
}

// foreign checks the operator's writes to objects of other owners: bystanders, which the workload
// created, objects in other namespaces, and cluster-scoped objects.
func foreign(m *moment) []finding.Finding {
	for _, r := range m.run.requests(m.i) {
		if !changed(&r) || r.Verb == "create" || r.Served == 201 {
			continue
		}
		whose := ""
		switch {
		case m.isBystander(&r):
			whose = "of another owner"
		case m.run.made(&r):
		case r.Namespace != "" && r.Namespace != m.run.Namespace:
			whose = "in another namespace"
		case r.Namespace == "" && m.isOfCluster(&r):
			whose = "that is cluster-scoped"
		}
		if whose == "" {
			continue
		}
		kind := m.run.kindOf(r.Resource)
		if kind == "" {
			kind = r.Resource
		}
		does := "changes"
		if strings.HasPrefix(r.Verb, "delete") {
			does = "deletes"
		}
		return []finding.Finding{{
			Property: finding.NothingForeign, Message: fmt.Sprintf("the operator %s a %s %s", does, kind, whose),
			Of: &workload.Ref{APIVersion: apiVersion(r.Group, r.Version), Kind: kind, Namespace: outside(m.run.Namespace, r.Namespace), Name: m.run.world.Neutral(r.Name)},
		}}
	}
	if found := m.bystandersGone(); found != nil {
		return found
	}
	return m.taken()
}

// taken finds objects of the user, such as Secrets, that custom resources only refer to and of which the
// operator took ownership. They are deleted with the custom resource.
func (m *moment) taken() []finding.Finding {
	for _, one := range m.state().Objects {
		if !one.ByUser || normalize.IsCustom(one.Live().GroupVersionKind().GroupKind()) || one.Owner == "" || !m.run.applied(one, false) || m.run.applied(one, true) {
			continue
		}
		return []finding.Finding{{
			Property: finding.NothingForeign, Of: refTo(one),
			Message: fmt.Sprintf("the operator takes ownership of a %s of the user", one.Kind),
			Diff:    []finding.Difference{{Of: one.String(), Path: "metadata.ownerReferences", Got: fmt.Sprintf("%q", one.Owner)}},
		}}
	}
	return nil
}

// applied reports whether the workload applies an object. If withOwners is true, it has to apply it with owner references.
func (r *run) applied(o *normalize.Object, withOwners bool) bool {
	return slices.ContainsFunc(r.workload.Steps, func(step workload.Step) bool {
		return slices.ContainsFunc(step.Apply, func(object *unstructured.Unstructured) bool {
			return object.GetKind() == o.Kind && object.GetName() == o.Live().GetName() && (!withOwners || len(object.GetOwnerReferences()) > 0)
		})
	})
}

func outside(own, namespace string) string {
	if namespace == own {
		return ""
	}
	return namespace
}

// bystandersGone finds bystanders that were deleted indirectly: with all objects of a kind at once, or with an object that
// was made their owner.
func (m *moment) bystandersGone() []finding.Finding {
	for _, change := range m.run.changes(m.i) {
		if change.Type == deleted && m.isBystanding(change.Resource, change.Name) {
			return []finding.Finding{{
				Property: finding.NothingForeign, Of: m.run.refOf(change),
				Message: fmt.Sprintf("the operator deletes a %s of another owner", change.Kind),
			}}
		}
	}
	return nil
}

func (m *moment) isBystander(r *requestlog.Request) bool {
	return r.Namespace == m.run.Namespace && m.isBystanding(r.Resource, r.Name)
}

// isBystanding reports whether the workload created an object that the operator must not touch.
func (m *moment) isBystanding(resource, name string) bool {
	for _, step := range m.run.workload.Steps {
		for _, object := range step.Apply {
			if workload.IsBystander(object) && object.GetName() == name && m.run.resourceOf(object.GetKind()) == resource {
				return true
			}
		}
	}
	return false
}

// made reports whether the operator itself created the object of a request in this run, or may have done so with a write whose response was lost.
func (r *run) made(of *requestlog.Request) bool {
	for i := range r.Requests {
		one := &r.Requests[i]
		if one.Seq < of.Seq && one.Resource == of.Resource && one.Group == of.Group && one.Namespace == of.Namespace &&
			(one.Name == of.Name || of.Name == "") && (one.Served == 201 || one.Effect == requestlog.Unknown && one.Verb != "delete") && one.Subresource == "" {
			return true
		}
	}
	return false
}

// ofOperators contains the groups whose objects operators ship and write: their own definitions and
// webhooks.
var ofOperators = map[string]bool{"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true}

// isOfCluster reports whether the object of a request belongs neither to the run's namespace nor to an
// operator. Persistent volumes are created and deleted with the claims of a namespace.
func (m *moment) isOfCluster(r *requestlog.Request) bool {
	custom := normalize.IsCustom(schema.GroupKind{Group: r.Group})
	return !custom && !ofOperators[r.Group] && r.Resource != "persistentvolumes" && !(r.Resource == "namespaces" && r.Name == m.run.Namespace)
}
