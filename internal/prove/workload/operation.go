package workload

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/workload/crd"
)

// DefaultLimit is the default number of workloads that [Operations] returns.
const DefaultLimit = 60

// Options limits the number of operations, and defines the order of equally promising operations.
type Options struct {
	// Limit is the maximum number of workloads. 0 means DefaultLimit.
	Limit int
	// Seed defines the order of operations of equal promise.
	Seed uint64
}

// operation is a change of one object from its sample, and the prediction of its result.
type operation struct {
	crd.Variant
	crd.Foretold
	kind   *crd.Kind
	sample *unstructured.Unstructured
	unmet  *Ref
}

// Operations returns workloads that each change one field of one custom resource, and change it back:
// for each field in the definitions other values, values at its bounds, and no value; blocks,
// list items and map keys added and removed; lists in another order. The first workloads of each sample change
// several fields at once. One of the first workloads of
// each sample contains values that may be meaningless, each of which is reverted. The last workload of
// each sample contains values that have to be rejected.
//
// Guarantees: the schema and its rules predict what is rejected. If only the change back is rejected, or if a value is
// valid for a new object but not for an existing one, that step has Refused. A change from a name that refers to the
// object of another sample to a name that refers to no object has Unmet. The same samples, definitions and options result
// in the same workloads, those of greater promise first.
//
// The error names samples for which nothing can be predicted, for example because they are not valid without a
// webhook. The workloads of the other samples are returned in any case and can be used.
//
// Caveats: rejections by a webhook are not predicted. Fields without a schema are not changed.
func Operations(samples, crds []*unstructured.Unstructured, options Options) ([]Workload, error) {
	own, others := split(samples, crds)
	all := slices.Concat(others, own)
	operations, err := operationsOn(own, crds, all, options.Seed)
	var several, further, changes, odd, refusals []Workload
	for _, sample := range own {
		values, removals := together(sample, operations, all, own)
		several = slices.Concat(several, first(values), removals)
		further = append(further, values[len(first(values)):]...)
		if w, ok := senseless(sample, operations, all, own); ok {
			odd = append(odd, w)
		}
		if w, ok := refusing(sample, operations, all, own); ok {
			refusals = append(refusals, w)
		}
	}
	limit := max(cmp.Or(options.Limit, DefaultLimit)-len(several)-len(further)-len(refusals)-len(odd), 1)
	for _, o := range operations {
		if o.Wrong || o.Refused != nil && o.New != nil || len(changes) == limit {
			continue
		}
		changes = append(changes, o.workload(all, own))
	}
	changes = slices.Insert(changes, min(promised, len(changes)), append(odd, further...)...)
	return slices.Concat(several, changes, refusals), err
}

// operationsOn returns the changes of all samples, the most promising first. The error says why there
// are none for a sample.
func operationsOn(own, crds, all []*unstructured.Unstructured, seed uint64) ([]operation, error) {
	var found []operation
	var problems []error
	for _, sample := range firstOfEachKind(own) {
		kind, err := kindOf(sample, crds)
		if err != nil {
			problems = append(problems, err)
		}
		if kind == nil {
			continue
		}
		foretell := kind.Foretell(sample)
		for _, variant := range kind.Variants(sample) {
			o := operation{Variant: variant, Foretold: foretell(variant.Object), kind: kind, sample: sample}
			if o.Refused == nil {
				o.unmet = unmet(variant, all)
			}
			found = append(found, o)
		}
	}
	found = takeTurns(found)
	slices.SortStableFunc(found, func(a, b operation) int {
		return cmp.Or(cmp.Compare(b.Promise, a.Promise), cmp.Compare(a.lot(seed), b.lot(seed)))
	})
	return found, errors.Join(problems...)
}

// kindOf returns the definition of a sample's kind and version, or nil if there is none.
func kindOf(sample *unstructured.Unstructured, crds []*unstructured.Unstructured) (*crd.Kind, error) {
	definition := definitionOf(sample, crds)
	if definition == nil {
		return nil, nil
	}
	kinds, err := crd.Read(definition)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(kinds, func(k *crd.Kind) bool { return k.GroupVersionKind == sample.GroupVersionKind() })
	if i < 0 {
		return nil, fmt.Errorf("no operations on %s: its CRD does not serve the version %s", RefOf(sample), sample.GetAPIVersion())
	}
	if err := kinds[i].Admit(sample, nil); err != nil {
		return nil, fmt.Errorf("no operations on %s: it is not valid without a webhook: %w", RefOf(sample), err)
	}
	return kinds[i], nil
}

const (
	// promised is the number of changes before the values that may be meaningless.
	promised = 3
	// repeated is how much less a further value of the same field promises than the previous one, so
	// that all fields are changed even if there are few runs.
	repeated = 30
	// unchanged is how much less a change promises if it has no effect after defaulting.
	unchanged = 40
	// maxTurns is the maximum number of accepted values, and of rejected values, for a field.
	maxTurns = 6
)

// takeTurns lowers the promise of all changes of a field except the best one, and omits changes beyond maxTurns. It
// counts rejected changes separately.
func takeTurns(operations []operation) []operation {
	slices.SortStableFunc(operations, func(a, b operation) int { return cmp.Compare(b.Promise, a.Promise) })
	before := map[string]int{}
	var kept []operation
	for _, o := range operations {
		if o.Same {
			o.Promise -= unchanged
		}
		field := fmt.Sprint(RefOf(o.sample), o.Path, o.Refused != nil)
		o.Promise -= repeated * before[field]
		if before[field]++; before[field] <= maxTurns {
			kept = append(kept, o)
		}
	}
	return kept
}

// unmet returns a reference to the missing object if a change replaces the name of an existing object, or nil otherwise.
func unmet(v crd.Variant, all []*unstructured.Unstructured) *Ref {
	name, ok := v.Old.(string)
	other, text := v.Value.(string)
	if !ok || !text || other == "" || !refers(v.Path) {
		return nil
	}
	var found *Ref
	for _, object := range all {
		switch object.GetName() {
		case other:
			return nil
		case name:
			ref := RefOf(object)
			ref.Name = other
			found = &ref
		}
	}
	return found
}

// refers reports whether a field is likely to contain the name of an object.
func refers(path string) bool {
	last := path[strings.LastIndexAny(path, ".")+1:]
	for _, end := range []string{"name", "ref", "secret", "configmap"} {
		if strings.HasSuffix(strings.ToLower(last), end) {
			return true
		}
	}
	return false
}

// name returns the name of the operation and of its workload.
func (o operation) name(several bool) string {
	name := o.Path + ": " + o.What
	if several {
		return RefOf(o.sample).String() + " " + name
	}
	return name
}

// lot returns a number that orders operations of equal promise.
func (o operation) lot(seed uint64) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s %s", seed, RefOf(o.sample), o.name(false))
	return hash.Sum64()
}

// workload returns a workload with the steps create, change, change back, and delete.
func (o operation) workload(all, own []*unstructured.Unstructured) Workload {
	name := o.name(len(own) > 1)
	w := Workload{Name: name, Steps: []Step{{Name: create, Apply: all}, o.step()}}
	change := &w.Steps[1]
	switch {
	case change.Refused:
	case o.unmet != nil:
		change.Unmet = o.unmet
	case o.Same:
		change.Same = create
	case o.New == nil:
		change.Fresh, change.Guess, change.Apply = true, o.Guess, replaced(all, o.Object)
	}
	if o.Refused == nil {
		back := Step{Name: o.Path + ": back", Apply: []*unstructured.Unstructured{o.sample}, Refused: o.Back != nil}
		if o.Back == nil {
			back.Same = create
		}
		w.Steps = append(w.Steps, back)
	}
	w.Steps = append(w.Steps, Step{Name: remove, Delete: refsOf(own)})
	return w
}

// step returns the step with the change.
func (o operation) step() Step {
	return Step{Name: o.Path + ": " + o.What, Apply: []*unstructured.Unstructured{o.Object}, Refused: o.Refused != nil}
}

// replaced returns the objects with one of them replaced.
func replaced(all []*unstructured.Unstructured, by *unstructured.Unstructured) []*unstructured.Unstructured {
	with := slices.Clone(all)
	for i, object := range with {
		if RefOf(object).is(RefOf(by)) {
			with[i] = by
		}
	}
	return with
}

func firstOfEachKind(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var first []*unstructured.Unstructured
	for _, object := range objects {
		kind := RefOf(object).GroupKind()
		if !slices.ContainsFunc(first, func(o *unstructured.Unstructured) bool { return RefOf(o).GroupKind() == kind }) {
			first = append(first, object)
		}
	}
	return first
}
