package normalize

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// Difference is one difference between a state and the expected state.
type Difference struct {
	finding.Difference
	// Object is the actual object, or the expected one if it is missing. It is nil for a count.
	Object *Object
	// Missing and Extra are set if the whole object is missing, or should not exist.
	Missing, Extra bool
	// Count is set if the difference is about a count.
	Count Count
}

// Diff returns the differences between a state and the expected state, without the noise: missing objects
// first, then objects that should not exist, fields, and counts.
func Diff(want, got *State, noise *Noise) []Difference {
	m := matched(want, got, noise)
	var all []Difference
	for _, one := range m.missing {
		if noise == nil || !noise.fleeting[one.id()] {
			all = append(all, Difference{Object: one, Missing: true, Difference: finding.Difference{Of: one.String(), Want: `"exists"`}})
		}
	}
	for _, one := range m.extra {
		if noise == nil || !noise.fleeting[one.id()] {
			all = append(all, Difference{Object: one, Extra: true, Difference: finding.Difference{Of: one.String(), Got: `"exists"`}})
		}
	}
	for _, pair := range m.pairs {
		for _, d := range compare(pair.want, pair.got, noise) {
			all = append(all, Difference{Object: pair.got, Difference: finding.Difference{Of: pair.got.String(), Path: d.path, Want: d.want, Got: d.got}})
		}
	}
	all = append(all, unrelated(want, got, noise)...)
	return append(all, recount(want, got, noise)...)
}

// Plain returns differences in the form that findings show.
func Plain(differences []Difference) []finding.Difference {
	var all []finding.Difference
	for _, d := range differences {
		all = append(all, d.Difference)
	}
	return all
}

func recount(want, got *State, noise *Noise) []Difference {
	var all []Difference
	counts := slices.SortedFunc(both(want.Counts, got.Counts), func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Owner, b.Owner))
	})
	for _, count := range counts {
		if want.Counts[count] == got.Counts[count] || noise != nil && noise.counted[count] {
			continue
		}
		of := count.Owner
		if of == "" {
			of = count.Kind
		}
		all = append(all, Difference{Count: count, Difference: finding.Difference{
			Of: of, Path: fmt.Sprintf("(number of %ss)", count.Kind),
			Want: strconv.Itoa(want.Counts[count]), Got: strconv.Itoa(got.Counts[count]),
		}})
	}
	return all
}

func both[V any](a, b map[Count]V) iter.Seq[Count] {
	return func(yield func(Count) bool) {
		for count := range a {
			if !yield(count) {
				return
			}
		}
		for count := range b {
			if _, again := a[count]; !again && !yield(count) {
				return
			}
		}
	}
}

// unequal is a field that differs between two objects.
type unequal struct{ path, want, got string }

// compare returns the fields in which two objects differ. A field that is owned in only one of them
// is not a difference if the other object has the same value from another manager.
func compare(want, got *Object, noise *Noise) []unequal {
	var all []unequal
	hides := func(d unequal) bool {
		return isEmpty(want, d, noise) || isShown(want, got, d) || noise.hides(want.kind(), d)
	}
	for _, path := range want.paths() {
		is, owned := got.Fields[path]
		if !owned && is != want.Fields[path] {
			is = got.whole()[path]
		}
		if d := (unequal{path, want.Fields[path], is}); is != want.Fields[path] && !hides(d) {
			all = append(all, d)
		}
	}
	for _, path := range got.paths() {
		d := unequal{path, want.whole()[path], got.Fields[path]}
		if _, known := want.Fields[path]; known || d.want == d.got || hides(d) {
			continue
		}
		all = append(all, d)
	}
	return all
}

// isEmpty reports whether a field of a custom resource differs only in that it is absent in one object and empty in the
// other: typed clients leave out empty fields that are marked omitempty, and to an API both mean the same. In built-in
// kinds the API server already left out what means the same. An element of a list is never empty. A block of a spec that is empty can be a
// request, unlike a map.
//
// Caveats: without a schema, an entry of a map with an empty value counts as a field, unless the value is a block.
func isEmpty(o *Object, d unequal, noise *Noise) bool {
	if d.want != "" && d.got != "" || !IsCustom(o.kind()) || strings.HasSuffix(d.path, "]") {
		return false
	}
	switch d.want + d.got {
	case "false", "0", `""`, "[]", "null":
		return strings.HasPrefix(d.path, "status.") || strings.HasPrefix(d.path, "spec.") && (noise == nil || !noise.Maps.hasEntry(o.kind(), d.path))
	case "{}":
		return strings.HasPrefix(d.path, "status") || noise != nil && noise.Maps.hasMap(o.kind(), d.path)
	}
	return false
}

// isShown reports whether a block of a custom resource is empty in one object and has fields in the other: these are compared, and the block
// exists in both.
func isShown(want, got *Object, d unequal) bool {
	with := got
	if d.got == "{}" {
		with = want
	}
	if d.want+d.got != "{}" || !IsCustom(want.kind()) {
		return false
	}
	for path := range with.whole() {
		if after, below := strings.CutPrefix(path, d.path); below && (after[0] == '.' || after[0] == '[') {
			return true
		}
	}
	return false
}

// match records which objects of two states are the same.
type match struct {
	pairs          []pair
	missing, extra []*Object
}

type pair struct{ want, got *Object }

// matched finds the objects of one state in the other: by name, or, if names are generated, by kind,
// owner, and similarity.
func matched(want, got *State, noise *Noise) match {
	var m match
	var left []*Object
	byName := map[string]*Object{}
	for _, one := range got.Objects {
		if one.Generated {
			left = append(left, one)
			continue
		}
		byName[one.id()] = one
	}
	var unmatched []*Object
	for _, one := range want.Objects {
		other := byName[one.id()]
		if one.Generated || other == nil {
			unmatched = append(unmatched, one)
			continue
		}
		m.pairs = append(m.pairs, pair{one, other})
		delete(byName, one.id())
	}
	for _, one := range got.Objects {
		if !one.Generated && byName[one.id()] == one {
			left = append(left, one)
		}
	}
	for _, atMost := range []int{0, anyNumber} { // equal objects first
		unmatched = slices.DeleteFunc(unmatched, func(one *Object) bool {
			i := likest(one, left, noise, atMost)
			if i >= 0 {
				m.pairs = append(m.pairs, pair{one, left[i]})
				left = slices.Delete(left, i, i+1)
			}
			return i >= 0
		})
	}
	m.missing, m.extra = unmatched, left
	return m
}

// anyNumber of differences.
const anyNumber = 1 << 30

// likest returns the index of the object that differs least from one whose name was generated, in at most atMost
// fields. It is -1 if none can be the same.
func likest(one *Object, among []*Object, noise *Noise, atMost int) int {
	best, fewest := -1, atMost+1
	for i, other := range among {
		if !comparable(one, other, noise) {
			continue
		}
		if differences := len(compare(one, other, noise)); differences < fewest {
			best, fewest = i, differences
		}
		if fewest == 0 {
			break
		}
	}
	return best
}

// comparable reports whether two objects may be the same although their names differ.
func comparable(a, b *Object, noise *Noise) bool {
	if a.kind() != b.kind() || a.Namespace != b.Namespace || kindOf(a.Owner) != kindOf(b.Owner) {
		return false
	}
	if a.Generated || b.Generated {
		return a.Generated == b.Generated && a.Name == b.Name && a.Owner == b.Owner || noise.isNamed(a.kind())
	}
	return noise.isNamed(a.kind())
}

func kindOf(owner string) string {
	kind, _, _ := strings.Cut(owner, "/")
	return kind
}
