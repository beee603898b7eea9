package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Variant is an object that differs from another one in one place.
type Variant struct {
	// Path is the place of the difference in the format of the API server: spec.nodes[0].size.
	Path string
	// What describes the difference: "5", "removed", "one item more".
	What string
	// Object is the whole object.
	Object *unstructured.Unstructured
	// Value is the new value, and Old is the previous value. Nil means that there is no value.
	Value, Old any
	// Promise is greater if it is more likely that an operator has to do something.
	Promise int
	// Guess means that the schema allows the variant, but the author of the operator may not expect it: a made-up
	// text, or a missing field without a default.
	Guess bool
	// Wrong means that the variant is meant to be rejected. Admit reports whether it is.
	Wrong bool
}

const (
	// big is the number of fields beyond which only some fields of a block within spec are changed: the fields that the sample has,
	// and fields with significant names. Examples are a pod's specification and other embedded specifications.
	big = 25
	// maxVariants is the maximum number of variants of one object.
	maxVariants = 3000
)

// Variants returns objects that each differ from an object in one place. They cover every field of the schema,
// including fields of blocks that the object does not have.
//
// Guarantees: the same object and schema result in the same variants, in the order of the fields' names. Neither
// metadata nor status differ. There are at most 3,000 variants.
//
// Caveats: variants may be invalid, or be equal to the object after defaulting. Of a field that the schema does not describe, only the content
// that the object has is changed.
func (k *Kind) Variants(object *unstructured.Unstructured) []Variant {
	w := &walk{kind: k, object: object, seen: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(k.schema.Properties)) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		property := k.schema.Properties[name]
		w.field(path{name}, &property, slices.Contains(required(k.schema.Structural), name))
	}
	return w.found
}

// walk traverses a schema together with an object.
type walk struct {
	kind   *Kind
	object *unstructured.Unstructured
	found  []Variant
	seen   map[string]bool
	guess  bool // the next variant is a guess
	open   int  // the number of blocks around the current field whose content the schema does not describe
}

// field creates the variants of a field and of its content.
func (w *walk) field(here path, of *structural.Structural, needed bool) {
	if len(w.found) >= maxVariants || len(here) > 2*deepest {
		return
	}
	old, there := get(w.object.Object, here)
	if known := described(of, old); known != of {
		of, needed = known, false
		w.open++
		defer func() { w.open-- }()
	}
	for _, other := range values(here.last(), of, old, there) {
		w.set(here, of, other, old, 0)
	}
	if there && !needed && !w.alone(here) {
		w.guess = of.Default.Object == nil
		w.add(here, "removed", without(w.object.Object, here), nil, old, w.withoutIt(here, of))
	}
	if there && needed {
		w.wrong(here, "removed", without(w.object.Object, here), nil, old)
	}
	for _, other := range wrongValues(of) {
		w.wrong(here, text(other), w.changed(here, other), other, old)
	}
	switch kindOf(of) {
	case "object":
		w.block(here, of, old, there)
	case "array":
		w.list(here, of, old, there)
	}
}

// alone reports whether the block of a field has no other field. Server-side apply sets a block to null
// if its last field is removed. Removing the block is another variant.
func (w *walk) alone(here path) bool {
	above, _ := get(w.object.Object, here[:len(here)-1])
	fields, _ := above.(map[string]any)
	return len(here) > 1 && len(fields) == 1
}

// withoutIt returns the promise of removing a field. If a block is removed, the operator has to delete what it created
// for it.
func (w *walk) withoutIt(here path, of *structural.Structural) int {
	if kindOf(of) == "object" {
		return max(ifWithout, promiseOf(here, of, w.kind))
	}
	return ifWithout
}

// set adds a variant with another value.
func (w *walk) set(here path, of *structural.Structural, other, old any, promise int) {
	if equal(other, old) {
		return
	}
	w.guess = guessed(of, other, old)
	w.add(here, text(other), w.changed(here, other), other, old, promise+promiseOf(here, of, w.kind))
}

func (w *walk) changed(here path, other any) any {
	return with(w.object.Object, here, other, w.missing)
}

// missing returns the required content of a block that does not exist yet.
func (w *walk) missing(at path) any {
	of := w.kind.at(at)
	if of == nil {
		return nil
	}
	return least(at.last(), of, len(at))
}

// block creates the variants of a block or map.
func (w *walk) block(here path, of *structural.Structural, old any, there bool) {
	if !there {
		w.set(here, of, least(here.last(), of, len(here)), old, ifBlock)
		w.set(here, of, filled(of, len(here)), old, ifBlock+1)
	}
	fields, _ := old.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		property := of.Properties[name]
		if _, has := fields[name]; len(here) > 1 && len(of.Properties) > big && !has && !telling(name) {
			continue
		}
		w.field(here.to(name), &property, slices.Contains(limitsOf(of).Required, name))
	}
	elements := valuesOf(of)
	if elements == nil {
		return
	}
	w.set(here.to(newKey(fields)), elements, least(newKey(fields), elements, len(here)), nil, ifKey)
	for i, key := range slices.Sorted(maps.Keys(fields)) {
		if i < 2 {
			w.field(here.to(key), elements, false)
		}
	}
}

func newKey(fields map[string]any) string {
	for _, key := range []string{"key-a", "key-b"} {
		if _, there := fields[key]; !there {
			return key
		}
	}
	return "key-c"
}

// list creates the variants of a list.
func (w *walk) list(here path, of *structural.Structural, old any, there bool) {
	if of.Items == nil {
		return
	}
	elements, _ := old.([]any)
	longer := append(slices.Clone(elements), another(here.last(), of.Items, elements, of.XListMapKeys, len(here)))
	what := "one item more"
	if !there {
		what = "one item"
	}
	w.guess = guessed(of.Items, longer[len(longer)-1], nil)
	w.add(here, what, w.changed(here, longer), longer, old, ifItem+promiseOf(here, of, w.kind))
	if len(elements) > 1 || len(elements) == 1 && !unique(of) { // in merged lists, removing the only item also results in null
		w.guess = false
		shorter := slices.Clone(elements[:len(elements)-1])
		w.add(here, "one item less", w.changed(here, shorter), shorter, old, ifItem+promiseOf(here, of, w.kind))
	}
	if len(elements) > 0 {
		w.field(here.to(0), of.Items, true)
		if unique(of) {
			twice := append(slices.Clone(elements), elements[0])
			w.wrong(here, "an item twice", w.changed(here, twice), twice, old)
		}
	}
	if len(elements) > 1 {
		w.guess = false
		other := slices.Clone(elements)
		slices.Reverse(other)
		w.add(here, "in another order", w.changed(here, other), other, old, ifOrder+promiseOf(here, of, w.kind))
	}
	if most := limitsOf(of).MaxItems; most != nil && *most < 20 {
		many := slices.Clone(elements)
		for int64(len(many)) <= *most {
			many = append(many, another(here.last(), of.Items, many, of.XListMapKeys, len(here)))
		}
		w.wrong(here, fmt.Sprintf("%d items", len(many)), w.changed(here, many), many, old)
	}
}

func unique(of *structural.Structural) bool {
	return of.XListType != nil && (*of.XListType == "set" || *of.XListType == "map")
}

func (w *walk) add(here path, what string, object, other, old any, promise int) {
	w.keep(Variant{Path: here.String(), What: what, Value: other, Old: old, Promise: promise, Guess: w.guess}, object)
}

func (w *walk) wrong(here path, what string, object, other, old any) {
	if w.open > 0 { // any value is valid
		return
	}
	w.keep(Variant{Path: here.String(), What: what, Value: other, Old: old, Wrong: true, Promise: promiseOf(here, nil, w.kind)}, object)
}

func (w *walk) keep(v Variant, object any) {
	fields, ok := object.(map[string]any)
	name := v.Path + ": " + v.What
	if !ok || w.seen[name] || equality.Semantic.DeepEqual(fields, w.object.Object) {
		return
	}
	w.seen[name] = true
	v.Object = &unstructured.Unstructured{Object: fields}
	w.found = append(w.found, v)
}

// at returns the schema at a path, or nil if the schema does not describe it.
func (k *Kind) at(p path) *structural.Structural {
	of := k.schema.Structural
	for _, step := range p {
		switch step := step.(type) {
		case int:
			of = of.Items
		case string:
			property, ok := of.Properties[step]
			if ok {
				of = &property
				break
			}
			of = valuesOf(of)
		}
		if of == nil {
			return nil
		}
	}
	return of
}

// text formats a value in few words.
func text(value any) string {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return "{}"
		}
		return "{" + strings.Join(slices.Sorted(maps.Keys(value)), ", ") + "}"
	case []any:
		return fmt.Sprintf("%d items", len(value))
	case string:
		if len(value) > 40 {
			return fmt.Sprintf("%q… (%d characters)", value[:20], len(value))
		}
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprint(value)
}

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
