package normalize

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

// UserManager is the field manager of the workload.
const UserManager = "operon-prove"

// Placeholder replaces the name of a run's namespace.
const Placeholder = "{namespace}"

// World is the information about a run that is needed to read its objects.
type World struct {
	// Namespace is the namespace of the run.
	Namespace string
	// Managers are the operator's field managers.
	Managers map[string]bool
	// Began is when the run began. A time since then was produced by the run, and equals any
	// other such time. If it is not set, the creation time of the oldest object is used.
	Began time.Time
	// Gone contains the objects that were deleted, see After. Objects whose owners were all deleted count as deleted: the
	// garbage collector deletes them later.
	Gone map[types.UID]bool
	// Own contains the objects that the operator keeps for itself, see [State.Own]. They are not part of states.
	Own map[string]bool
}

// WorldOf returns the World of a run. It includes managers from other runs of the same
// operator, because an interrupted run may not show all of them.
func WorldOf(of runlog.Trace, others ...runlog.Trace) World {
	w := World{Namespace: of.Namespace, Managers: map[string]bool{}, Began: of.Began}
	for _, one := range append([]runlog.Trace{of}, others...) {
		for i := range one.Requests {
			if r := &one.Requests[i]; r.IsWrite() && r.Manager != "" && r.Manager != UserManager {
				w.Managers[r.Manager] = true
			}
		}
	}
	return w
}

// After returns the world after some changes.
func (w World) After(changes []runlog.Change) World {
	w.Gone = map[types.UID]bool{}
	for _, change := range changes {
		if change.Type == "DELETED" {
			w.Gone[types.UID(change.UID)] = true
		}
	}
	return w
}

// State is the requested state at a moment of a run.
type State struct {
	// Objects contains the objects that the operator or the user wrote, by kind and name.
	Objects []*Object
	// Counts contains the numbers of objects that controllers of Kubernetes created, by kind and owner.
	Counts map[Count]int
}

// Count identifies a group of counted objects.
type Count struct {
	// Kind is Pod or PersistentVolumeClaim.
	Kind string
	// Owner is the last owner in the chain, as kind/name. It is empty if it is not known.
	Owner string
}

// Object is an object of the cluster, reduced to its requested fields.
type Object struct {
	// Kind is the kind. Group is its API group.
	Kind, Group string
	// Namespace is empty for the run's own namespace and for cluster-scoped objects.
	Namespace string
	// Name contains a placeholder for the run's namespace. If the API server generated the name, it is the
	// requested prefix and a star.
	Name string
	// Generated is true if the API server generated the name.
	Generated bool
	// Owner is the first owner, as kind/name.
	Owner string
	// ByOperator and ByUser are true if the operator or the user wrote the object. Both can be true.
	ByOperator, ByUser bool
	// Fields contains the values of the fields that operator and user own, as JSON, by path.
	Fields map[string]string

	whole func() map[string]string // all fields, regardless of their owner
	live  *unstructured.Unstructured
}

// Live returns the object as stored in the cluster.
func (o *Object) Live() *unstructured.Unstructured { return o.live }

// String returns the object as kind/name.
func (o *Object) String() string { return o.Kind + "/" + o.Name }

func (o *Object) kind() schema.GroupKind { return schema.GroupKind{Group: o.Group, Kind: o.Kind} }

// IsCustom reports whether a kind is not a built-in kind of Kubernetes.
func IsCustom(kind schema.GroupKind) bool {
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// Of returns the state of a world with these objects.
func (w World) Of(objects []*unstructured.Unstructured) *State {
	r := reading{World: w, byUID: map[types.UID]*unstructured.Unstructured{}}
	var generated []string
	for _, object := range objects {
		r.byUID[object.GetUID()] = object
		if prefix := object.GetGenerateName(); prefix != "" && len(object.GetName()) > len(prefix) {
			generated = append(generated, object.GetName(), prefix+"*")
		}
	}
	r.generated = strings.NewReplacer(generated...)
	if r.Began.IsZero() {
		r.Began = oldest(objects)
	}
	s := &State{Counts: map[Count]int{}}
	for _, object := range objects {
		if r.isDoomed(object, 0) || isRelease(object) {
			continue
		}
		if one := r.object(object); one != nil {
			if !r.Own[one.id()] {
				s.Objects = append(s.Objects, one)
			}
			continue
		}
		if counts(object) {
			s.Counts[Count{object.GetKind(), r.root(object)}]++
		}
	}
	slices.SortStableFunc(s.Objects, func(a, b *Object) int { return strings.Compare(a.id(), b.id()) })
	return s
}

// Own returns the objects that the operator wrote and the user did not, in the form of [World.Own]. In a run without custom
// resources, these are the objects that it keeps for itself.
func (s *State) Own() map[string]bool {
	own := map[string]bool{}
	for _, one := range s.Objects {
		if one.ByOperator && !one.ByUser {
			own[one.id()] = true
		}
	}
	return own
}

// oldest returns the creation time of the oldest object.
func oldest(objects []*unstructured.Unstructured) time.Time {
	var first time.Time
	for _, object := range objects {
		if made := object.GetCreationTimestamp().Time; first.IsZero() || made.Before(first) {
			first = made
		}
	}
	return first
}

// maxDepth limits chains of owners, which may be circular.
const maxDepth = 8

// IsEnding reports whether an object is being deleted and only Kubernetes itself still has to act:
// its garbage collector, or the controller that protects claims in use.
func IsEnding(object *unstructured.Unstructured) bool {
	return object.GetDeletionTimestamp() != nil && !slices.ContainsFunc(object.GetFinalizers(), func(one string) bool {
		domain, _, qualified := strings.Cut(one, "/")
		if !qualified { // old operators have such names, too
			return one != metav1.FinalizerDeleteDependents && one != metav1.FinalizerOrphanDependents
		}
		return domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io") && !strings.HasSuffix(domain, ".k8s.io")
	})
}

// isDoomed reports whether an object will be deleted: because it is being deleted, or because all of its owners were
// deleted or will be deleted.
func (r reading) isDoomed(object *unstructured.Unstructured, depth int) bool {
	if IsEnding(object) {
		return true
	}
	owners := object.GetOwnerReferences()
	for _, one := range owners {
		owner := r.byUID[one.UID]
		if !r.Gone[one.UID] && (owner == nil || depth > maxDepth || !r.isDoomed(owner, depth+1)) {
			return false
		}
	}
	return len(owners) > 0
}

// counts reports whether an object that neither the operator nor the user wrote is counted: pods that run or will
// run, and claims.
func counts(object *unstructured.Unstructured) bool {
	if object.GetDeletionTimestamp() != nil {
		return false
	}
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase != "Succeeded" && phase != "Failed"
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return true
	}
	return false
}

// reading is a world with its objects at one moment.
type reading struct {
	World
	byUID map[types.UID]*unstructured.Unstructured
	// generated replaces the names that the API server generated.
	generated *strings.Replacer
}

// object returns the reduced object, or nil if neither the operator nor the user wrote it.
func (r reading) object(live *unstructured.Unstructured) *Object {
	mine, theirs := &fieldpath.Set{}, &fieldpath.Set{}
	o := &Object{live: live}
	for _, entry := range live.GetManagedFields() {
		set := &fieldpath.Set{}
		if entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue // a format that no API server writes
		}
		byOperator, byUser := r.Managers[entry.Manager], entry.Manager == UserManager
		o.ByOperator, o.ByUser = o.ByOperator || byOperator, o.ByUser || byUser
		if byOperator || byUser {
			mine = mine.Union(set)
			continue
		}
		theirs = theirs.Union(set)
	}
	// An object that was applied with no field is not tracked by the API server until another field is applied. Only users
	// do that.
	untracked := len(live.GetManagedFields()) == 0
	o.ByUser = o.ByUser || untracked
	if !o.ByOperator && !o.ByUser {
		return nil
	}
	kind := live.GroupVersionKind()
	o.Kind, o.Group = kind.Kind, kind.Group
	if o.Namespace = live.GetNamespace(); o.Namespace == r.Namespace {
		o.Namespace = ""
	}
	o.Name, o.Generated = r.nameOf(live)
	if owners := live.GetOwnerReferences(); len(owners) > 0 {
		o.Owner = r.owner(owners[0].UID, owners[0].Kind, owners[0].Name)
	}
	f := fields{reading: r, live: live, theirs: theirs}
	o.Fields = f.owned(mine)
	o.whole = once(f.all)
	if untracked {
		o.Fields = o.whole()
	}
	return o
}

// nameOf returns a name that is the same in each run, if possible, and whether the API server generated it.
func (r reading) nameOf(object *unstructured.Unstructured) (name string, generated bool) {
	if prefix := object.GetGenerateName(); prefix != "" {
		return r.neutral(prefix) + "*", true
	}
	return r.neutral(object.GetName()), false
}

var uid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// neutral is Neutral that also replaces the UIDs of the objects, and the names that the API server generated: they differ in each run, and
// operators make names, keys and messages of them.
func (r reading) neutral(text string) string {
	return uid.ReplaceAllStringFunc(r.generated.Replace(r.Neutral(text)), func(found string) string {
		if object := r.byUID[types.UID(found)]; object != nil {
			return "{uid of " + object.GetKind() + "/" + r.Neutral(object.GetName()) + "}"
		}
		return found
	})
}

// Neutral replaces the name of the world's namespace in a text with a placeholder.
func (w World) Neutral(text string) string {
	if w.Namespace == "" {
		return text
	}
	return strings.ReplaceAll(text, w.Namespace, Placeholder)
}

func (r reading) owner(uid types.UID, kind, name string) string {
	if object := r.byUID[uid]; object != nil {
		name, _ = r.nameOf(object)
		return kind + "/" + name
	}
	return kind + "/" + r.neutral(name)
}

// root returns the last relevant owner of an object: the first one in its chain of owners that the operator or
// the user wrote, or the last one that is known.
func (r reading) root(object *unstructured.Unstructured) string {
	root := ""
	for range maxDepth {
		owners := object.GetOwnerReferences()
		if len(owners) == 0 {
			return root
		}
		first := owners[0]
		root = r.owner(first.UID, first.Kind, first.Name)
		if object = r.byUID[first.UID]; object == nil || r.wrote(object) {
			return root
		}
	}
	return root
}

// wrote reports whether the operator or the user has written an object.
func (w World) wrote(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry managed) bool {
		return w.Managers[entry.Manager] || entry.Manager == UserManager
	})
}

// id returns an identifier that is equal for the same object in two runs.
func (o *Object) id() string { return ID(o.Kind, o.Group, o.Namespace, o.Name) }

// ID returns the identifier of an object in [World.Own]. The namespace is empty for the run's own, and the name is neutral.
func ID(kind, group, namespace, name string) string {
	return kind + "." + group + " " + namespace + "/" + name
}

// paths returns the paths of an object's fields, in order.
func (o *Object) paths() []string { return slices.Sorted(maps.Keys(o.Fields)) }
