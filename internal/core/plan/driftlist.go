package plan

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// list finds each composed element among the elements of the list that the operator owns. Elements
// with the most keys given are matched first, so that an element that leaves a key to the server's
// default does not take the place of another one.
func (c *comparison) list(at step, want []any, ours *fieldpath.Set) {
	all := elements(ours)
	left := slices.Clone(all)
	for _, i := range byKeysGiven(want, all) {
		found := slices.IndexFunc(left, func(e fieldpath.PathElement) bool { return names(e, want[i]) })
		if found < 0 {
			c.differs(at.with(fmt.Sprintf("%s[%s]", at.text, nameOf(want[i], i, all)), fieldpath.PathElement{Index: &i}))
			continue
		}
		element := left[found]
		left = slices.Delete(left, found, found+1)
		if element.Key != nil {
			c.value(at.with(fmt.Sprintf("%s[%s]", at.text, describeKey(*element.Key)), element), want[i], ours)
		}
	}
}

// elements returns the elements of a list that a set contains.
func elements(set *fieldpath.Set) []fieldpath.PathElement {
	var found []fieldpath.PathElement
	collect := func(e fieldpath.PathElement) {
		if !slices.ContainsFunc(found, e.Equals) {
			found = append(found, e)
		}
	}
	set.Members.Iterate(collect)
	set.Children.Iterate(collect)
	return found
}

// byKeysGiven orders the indexes of a list by the number of keys that its elements give.
func byKeysGiven(list []any, keyed []fieldpath.PathElement) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	if len(keyed) == 0 || keyed[0].Key == nil {
		return order
	}
	given := func(i int) int {
		object, _ := list[i].(map[string]any)
		count := 0
		for _, key := range *keyed[0].Key {
			if object[key.Name] != nil {
				count++
			}
		}
		return count
	}
	slices.SortStableFunc(order, func(a, b int) int { return given(b) - given(a) })
	return order
}

// names reports whether a path element identifies a composed element of a list. A key that
// was not composed was set by the server.
func names(e fieldpath.PathElement, element any) bool {
	if e.Value != nil {
		return value.Equals(*e.Value, value.NewValueInterface(element))
	}
	object, ok := element.(map[string]any)
	if !ok || e.Key == nil {
		return false
	}
	for _, key := range *e.Key {
		if got := object[key.Name]; got != nil && !value.Equals(key.Value, value.NewValueInterface(got)) {
			return false
		}
	}
	return true
}

// nameOf returns a readable name for an element that no longer exists, by the keys of its
// siblings, or else by its index.
func nameOf(element any, place int, siblings []fieldpath.PathElement) string {
	object, ok := element.(map[string]any)
	if !ok {
		return fmt.Sprint(element)
	}
	for _, sibling := range siblings {
		if sibling.Key == nil {
			continue
		}
		var parts []string
		for _, key := range *sibling.Key {
			if object[key.Name] != nil {
				parts = append(parts, fmt.Sprintf("%s=%v", key.Name, object[key.Name]))
			}
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(place)
}

func describeKey(keys value.FieldList) string {
	var parts []string
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%s=%v", key.Name, key.Value.Unstructured()))
	}
	return strings.Join(parts, ",")
}
