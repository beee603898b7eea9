package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/workload/crd"
)

const (
	// maxTogether is the maximum number of fields that are changed in one step.
	maxTogether = 10
	// maxGroups is the maximum number of workloads that each give several fields of a sample other values at once.
	maxGroups = 3
)

// together returns workloads that change several fields of a sample in one step, and change them back: values are those in which
// the fields get other values, the most promising ones first, and removals are those in which they are removed. A few of them show what
// would take a workload for each field.
func together(sample *unstructured.Unstructured, operations []operation, all, own []*unstructured.Unstructured) (values, removals []Workload) {
	joining := func(removed bool) []operation {
		return slices.DeleteFunc(slices.Clone(operations), func(o operation) bool {
			return o.sample != sample || !o.joins() || removed != (o.Value == nil)
		})
	}
	left := joining(false)
	for len(values) < maxGroups {
		w, others, ok := group(sample, left, all, own)
		if !ok {
			break
		}
		values, left = append(values, w), others
	}
	if w, _, ok := group(sample, joining(true), all, own); ok {
		removals = append(removals, w)
	}
	return values, removals
}

// first returns the first workload, or none if there is none.
func first(workloads []Workload) []Workload { return workloads[:min(len(workloads), 1)] }

// joins reports whether a change can be made together with others. After a boolean or a zero, an operator may do nothing else.
func (o operation) joins() bool {
	if o.Wrong || o.Refused != nil || o.New != nil || o.Back != nil || o.Same || o.unmet != nil {
		return false
	}
	for _, value := range []any{o.Old, o.Value} {
		if _, boolean := value.(bool); boolean {
			return false
		}
	}
	return o.Value == nil || !o.Guess && o.Value != int64(0)
}

// group makes a workload of the first operations that can be made together, and returns the others. It returns false if there are not
// two.
func group(sample *unstructured.Unstructured, operations []operation, all, own []*unstructured.Unstructured) (w Workload, left []operation, ok bool) {
	object, taken, guess := sample, [][]string(nil), false
	for _, o := range operations {
		fields := changedFields(sample, o.Object)
		with := withFields(object, o.Object, fields)
		if len(taken) >= maxTogether || whole(fields) || emptied(with, fields) || overlap(taken, fields) || !accepted(o.kind, sample, with) {
			left = append(left, o)
			continue
		}
		object, taken, guess = with, append(taken, fields...), guess || o.Guess
	}
	if len(taken) < 2 {
		return Workload{}, nil, false
	}
	change := changeOf(sample, object, taken, all)
	change.Fresh, change.Guess = true, guess
	return Workload{Name: fmt.Sprintf("%s: %s", RefOf(sample), change.Name), Steps: []Step{
		{Name: create, Apply: all}, change,
		{Name: "back", Apply: []*unstructured.Unstructured{sample}, Same: create},
		{Name: remove, Delete: refsOf(own)},
	}}, left, true
}

// whole reports whether the whole spec, or another top-level field, is among the fields: then no other can be changed with it.
func whole(fields [][]string) bool {
	return slices.ContainsFunc(fields, func(f []string) bool { return len(f) == 1 })
}

// emptied reports whether a block of one of the fields is empty: server-side apply sets it to null, which is another change.
func emptied(object *unstructured.Unstructured, fields [][]string) bool {
	return slices.ContainsFunc(fields, func(f []string) bool {
		block, found, _ := unstructured.NestedMap(object.Object, f[:len(f)-1]...)
		return found && len(block) == 0
	})
}

// accepted reports whether an object is valid as a new one and as a change of the sample, and whether the change back is.
func accepted(kind *crd.Kind, sample, object *unstructured.Unstructured) bool {
	return kind.Admit(object, nil) == nil && kind.Admit(object, sample) == nil && kind.Admit(sample, object) == nil
}

// changeOf returns a step that changes the fields of a sample to those of an object.
func changeOf(sample, object *unstructured.Unstructured, fields [][]string, all []*unstructured.Unstructured) Step {
	how := "changed"
	if _, found, _ := unstructured.NestedFieldNoCopy(object.Object, fields[0]...); !found {
		how = "removed"
	}
	return Step{Name: fieldNames(fields) + " " + how, Apply: replaced(all, withFields(sample, object, fields))}
}

// fieldNames returns the paths of fields in words.
func fieldNames(fields [][]string) string {
	const most = 4
	var names []string
	for _, f := range fields[:min(len(fields), most)] {
		names = append(names, strings.Join(f, "."))
	}
	if more := len(fields) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Halves returns the workload with each half of the fields that a step changes together. There are none if no step does.
func Halves(w Workload) []Workload {
	for i, step := range w.Steps {
		if i == 0 || !step.Fresh {
			continue
		}
		for _, object := range step.Apply {
			before := slices.IndexFunc(w.Steps[0].Apply, func(one *unstructured.Unstructured) bool { return RefOf(one) == RefOf(object) })
			if before < 0 {
				continue
			}
			sample := w.Steps[0].Apply[before]
			fields := changedFields(sample, object)
			if len(fields) < 2 {
				continue
			}
			var halves []Workload
			for _, half := range [][][]string{fields[:len(fields)/2], fields[len(fields)/2:]} {
				smaller := changeOf(sample, object, half, step.Apply)
				smaller.Fresh, smaller.Guess = step.Fresh, step.Guess
				one := w
				one.Steps = slices.Clone(w.Steps)
				one.Steps[i] = smaller
				halves = append(halves, one)
			}
			return halves
		}
	}
	return nil
}

// changedFields returns the paths of the fields in which an object differs from another. A list is compared as a whole.
func changedFields(before, after *unstructured.Unstructured) [][]string {
	return differing(nil, before.Object, after.Object)
}

func differing(at []string, before, after map[string]any) [][]string {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		here := append(slices.Clone(at), name)
		was, block := before[name].(map[string]any)
		is, still := after[name].(map[string]any)
		switch {
		case block && still:
			all = append(all, differing(here, was, is)...)
		case !equality.Semantic.DeepEqual(before[name], after[name]):
			all = append(all, here)
		}
	}
	return all
}

// withFields returns a copy of an object in which fields have the values that they have in another one, or are missing as there.
func withFields(object, from *unstructured.Unstructured, fields [][]string) *unstructured.Unstructured {
	copied := object.DeepCopy()
	for _, f := range fields {
		value, found, _ := unstructured.NestedFieldCopy(from.Object, f...)
		if !found {
			unstructured.RemoveNestedField(copied.Object, f...)
			continue
		}
		_ = unstructured.SetNestedField(copied.Object, value, f...) // the blocks above exist in both
	}
	return copied
}

// overlap reports whether a field is, contains or is part of one of others.
func overlap(others, fields [][]string) bool {
	return slices.ContainsFunc(fields, func(f []string) bool {
		return slices.ContainsFunc(others, func(o []string) bool {
			n := min(len(f), len(o))
			return slices.Equal(f[:n], o[:n])
		})
	})
}
