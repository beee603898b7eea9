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

// DefaultLimit is how many workloads [Operations] makes where nothing else is said.
const DefaultLimit = 60

// Options say how many operations are made, and which of equal promise.
type Options struct {
	// Limit is how many workloads there are at most, DefaultLimit where it is 0.
	Limit int
	// Seed decides among operations of equal promise.
	Seed uint64
}

// operation is a change of one object from its sample, and what is known of it before it is sent.
type operation struct {
	crd.Variant
	crd.Foretold
	sample *unstructured.Unstructured
	unmet  *Ref
}

// Operations are workloads that change one field of one custom resource each, and change it back:
// for each field that the definitions have other values, values at its bounds, and none; blocks,
// list items and map keys added and removed; lists in another order. Among the first of them is one for
// each sample with values that may mean nothing, each of which is taken back; the last are one for
// each sample with values that have to be refused.
//
// Guarantees: what is refused and what is not is known beforehand, from the schema and its rules:
// a change that only the step back from is refused, or that a new object may have and an old one
// may not get, is a step with Refused. A change with a name that leads to another sample's object to
// one that leads to none has Unmet. The same samples, definitions and options give the same
// workloads, those of greater promise first.
//
// The error tells of samples that nothing can be foretold of, for example as they need the help of a
// webhook to be valid. The workloads are those of the others, and good to use all the same.
//
// Caveats: what a webhook refuses is not known. Fields without a schema are left alone.
func Operations(samples, crds []*unstructured.Unstructured, options Options) ([]Workload, error) {
	own, others := split(samples, crds)
	all := slices.Concat(others, own)
	operations, err := operationsOn(own, crds, all, options.Seed)
	var changes, odd, refusals []Workload
	for _, sample := range own {
		if w, ok := senseless(sample, operations, all, own); ok {
			odd = append(odd, w)
		}
		if w, ok := refusing(sample, operations, all, own); ok {
			refusals = append(refusals, w)
		}
	}
	limit := max(cmp.Or(options.Limit, DefaultLimit)-len(refusals)-len(odd), 1)
	for _, o := range operations {
		if o.Wrong || o.Refused != nil && o.New != nil || len(changes) == limit {
			continue
		}
		changes = append(changes, o.workload(all, own))
	}
	changes = slices.Insert(changes, min(promised, len(changes)), odd...)
	return append(changes, refusals...), err
}

// operationsOn are the changes of all samples, those with the greatest promise first, and why there
// are none of a sample.
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
			o := operation{Variant: variant, Foretold: foretell(variant.Object), sample: sample}
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

// kindOf is what a definition says of a sample's kind and version, nil where there is none.
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
	// promised is how many changes come before the values that may mean nothing.
	promised = 3
	// repeated is what a further value for the same field promises less than the one before, so
	// that with few runs each field has its turn.
	repeated = 30
	// unchanged is what a change promises less that is none once defaults are set.
	unchanged = 40
	// maxTurns is how many values a field gets, of those that are allowed and of those that are not.
	maxTurns = 6
)

// takeTurns lowers what changes of a field promise beside the best one, those that are refused counted
// by themselves, and leaves out those beyond some.
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

// unmet is the object that a change with a name leads away from, nil where it is no such change.
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

// refers reports whether a field is likely to name an object.
func refers(path string) bool {
	last := path[strings.LastIndexAny(path, ".")+1:]
	for _, end := range []string{"name", "ref", "secret", "configmap"} {
		if strings.HasSuffix(strings.ToLower(last), end) {
			return true
		}
	}
	return false
}

// name is the operation's, and its workload's.
func (o operation) name(several bool) string {
	name := o.Path + ": " + o.What
	if several {
		return RefOf(o.sample).String() + " " + name
	}
	return name
}

// lot orders what promises the same.
func (o operation) lot(seed uint64) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s %s", seed, RefOf(o.sample), o.name(false))
	return hash.Sum64()
}

// workload is: create, change, change back, delete.
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

// step is the change alone.
func (o operation) step() Step {
	return Step{Name: o.Path + ": " + o.What, Apply: []*unstructured.Unstructured{o.Object}, Refused: o.Refused != nil}
}

// replaced are objects with one of them in another form.
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
