package operontest

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// trip is a round trip from one version through another and back.
type trip struct {
	from, through version
	there, back   func(source, target runtime.Object) error
	adjust        []func(runtime.Object)
	// fromSchema and throughSchema may be nil.
	fromSchema, throughSchema *spec.Schema
}

// define finds the schemas of the versions: either both have one, or none. Both are of the same group.
func (w *trip) define(all schemas) error {
	if len(all) == 0 {
		return nil
	}
	from, through := all.groups(w.from), all.groups(w.through)
	both := slices.DeleteFunc(slices.Clone(from), func(group string) bool { return !slices.Contains(through, group) })
	switch {
	case len(from) == 0:
		return missing(w.from)
	case len(both) == 0:
		return missing(w.through) // at least in the group of the other version
	case len(both) > 1:
		return fmt.Errorf("several CustomResourceDefinitions have the versions %s and %s of %s, in the groups %s: state the group in the TypeMeta of the objects",
			w.from.Version, w.through.Version, w.from.Kind, strings.Join(both, ", "))
	}
	w.from.Group, w.through.Group = both[0], both[0]
	w.fromSchema, w.throughSchema = all[w.from.GroupVersionKind], all[w.through.GroupVersionKind]
	return nil
}

// groups returns the groups that have a version of a kind. If the version states its group, it is the only one.
func (s schemas) groups(v version) []string {
	var found []string
	for kind := range s {
		if kind.Kind == v.Kind && kind.Version == v.Version && (v.Group == "" || kind.Group == v.Group) {
			found = append(found, kind.Group)
		}
	}
	slices.Sort(found)
	return found
}

func missing(v version) error {
	if v.Group != "" {
		return fmt.Errorf("no CustomResourceDefinition has version %s of %s in the group %s", v.Version, v.Kind, v.Group)
	}
	return fmt.Errorf("no CustomResourceDefinition has version %s of %s", v.Version, v.Kind)
}

func (w *trip) String() string {
	return fmt.Sprintf("%s %s → %s → %s", w.from.Kind, w.from.Version, w.through.Version, w.from.Version)
}

// unfitError reports that no object could be generated.
type unfitError struct{ error }

func isUnfit(err error) bool {
	var unfit unfitError
	return errors.As(err, &unfit)
}

// tries is the maximum number of objects that are made for one that is valid.
const tries = 10

// explore generates valid objects and sends them on the round trip. The error reports the first object that does not return
// unchanged, made as small as possible.
func (w *trip) explore(source rand.Source, objects int) error {
	fit, made, why := 0, 0, error(nil)
	for ; fit < objects && made < tries*objects; made++ {
		fields, err := w.make(rand.New(source))
		if err != nil {
			why = err
			continue
		}
		fit++
		if w.try(fields) == nil {
			continue
		}
		smallest := shrink(fields, func(candidate map[string]any) bool { return w.fits(candidate) == nil && w.try(candidate) != nil })
		return &tripError{way: w, made: made + 1, object: smallest, flaw: w.try(smallest)}
	}
	if fit == 0 {
		return unfitError{fmt.Errorf("%s: none of %d objects that were made is valid; make them so with Adjust, or give the schemas with CRDs: %w", w, made, why)}
	}
	return nil
}

// try sends an object on the round trip, and returns the problem, or nil. It does not change fields.
func (w *trip) try(fields map[string]any) *flaw {
	between, wrong := w.convert(w.from, w.through, w.there, fields, w.throughSchema)
	if wrong != nil {
		return wrong
	}
	after, wrong := w.convert(w.through, w.from, w.back, between, w.fromSchema)
	if wrong != nil {
		return wrong
	}
	if wrong = differ(fields, after); wrong != nil {
		wrong.after = after
	}
	return wrong
}

// convert does what an API server does with one response of a conversion webhook.
func (w *trip) convert(from, to version, convert func(source, target runtime.Object) error, fields map[string]any, of *spec.Schema) (map[string]any, *flaw) {
	step := fmt.Sprintf("%s → %s", from.Version, to.Version)
	source, target := from.empty(), to.empty()
	if err := decode(fields, source); err != nil {
		return nil, &flaw{path: step, what: fmt.Sprintf("%s cannot be read: %v", from.Version, err)}
	}
	if err := guard(func() error { return convert(source, target) }); err != nil {
		return nil, &flaw{path: step, what: fmt.Sprintf("the conversion fails: %v", err)}
	}
	if left, err := encode(source); err == nil && sameAs(fields, left) != nil {
		return nil, &flaw{path: step, what: fmt.Sprintf("the conversion changes the object that it reads: %v", sameAs(fields, left))}
	}
	target.GetObjectKind().SetGroupVersionKind(to.GroupVersionKind)
	converted, err := encode(target)
	if err != nil {
		return nil, &flaw{path: step, what: fmt.Sprintf("what it makes cannot be written: %v", err)}
	}
	return admitted(converted, of), nil
}

// admitted returns the fields after an API server has applied a schema, if there is one.
func admitted(fields map[string]any, of *spec.Schema) map[string]any {
	if of == nil {
		return fields
	}
	dropUnknown(fields, of, true)
	setDefaults(fields, of)
	return numbered(fields)
}

// numbered converts numbers to the types that JSON decoding returns: in schemas, all are floating-point numbers.
func numbered(fields map[string]any) map[string]any {
	data, err := json.Marshal(fields)
	if err != nil {
		return fields
	}
	again := map[string]any{}
	if err := json.Unmarshal(data, &again); err != nil {
		return fields
	}
	return again
}

// guard turns a panic into an error.
func guard(do func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("it panics: %v", panicked)
		}
	}()
	return do()
}

func encode(object runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	tidy(fields)
	return fields, nil
}

func decode(fields map[string]any, into runtime.Object) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// tidy removes nulls and empty lists: for most purposes they are equivalent to absent fields.
func tidy(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if list, ok := inner.([]any); inner == nil || ok && len(list) == 0 {
				delete(value, name)
				continue
			}
			tidy(inner)
		}
	case []any:
		for _, element := range value {
			tidy(element)
		}
	}
}

// flaw is a problem of a conversion.
type flaw struct {
	path, what string
	after      map[string]any // the result of the conversion, if there was one
}

// differ finds the first field that did not return unchanged. An added annotation is ignored: a conversion may keep fields
// there that the other version does not have.
func differ(before, after map[string]any) *flaw {
	return differAt("", before, after)
}

func differAt(at string, before, after any) *flaw {
	was, isMap := before.(map[string]any)
	is, stillMap := after.(map[string]any)
	if isMap && stillMap {
		return differInMap(at, was, is)
	}
	list, isList := before.([]any)
	now, stillList := after.([]any)
	if isList && stillList && len(list) == len(now) {
		for i := range list {
			if found := differAt(fmt.Sprintf("%s[%d]", at, i), list[i], now[i]); found != nil {
				return found
			}
		}
		return nil
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return &flaw{path: at, what: fmt.Sprintf("%s was %s and comes back as %s", at, shown(before), shown(after))}
}

func differInMap(at string, was, is map[string]any) *flaw {
	for _, name := range names(was, is) {
		inner := strings.TrimPrefix(at+"."+name, ".")
		before, there := was[name]
		after, still := is[name]
		switch {
		case there && !still:
			return &flaw{path: inner, what: fmt.Sprintf("%s is lost; it was %s", inner, shown(before))}
		case !there && (at == "metadata.annotations" || inner == "metadata.annotations"):
		case !there:
			return &flaw{path: inner, what: fmt.Sprintf("%s comes back as %s, and was not there", inner, shown(after))}
		default:
			if found := differAt(inner, before, after); found != nil {
				return found
			}
		}
	}
	return nil
}

func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// tripError reports an object that does not return unchanged.
type tripError struct {
	way    *trip
	made   int
	object map[string]any
	*flaw
}

func (e *tripError) Error() string {
	before := asYAML(e.object)
	story := fmt.Sprintf("%s: %s\nThe smallest object that shows it, of the %s that was made:\n\n%s", e.way, e.what, ordinal(e.made), before)
	if e.after == nil {
		return story
	}
	return story + "\nWhat comes back:\n\n" + difference(before, asYAML(e.after)) + "\n"
}

func asYAML(fields map[string]any) string {
	data, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Sprint(fields)
	}
	return string(data)
}

func ordinal(n int) string {
	suffixes := map[int]string{1: "st", 2: "nd", 3: "rd"}
	if suffix := suffixes[n%10]; suffix != "" && n/10%10 != 1 {
		return fmt.Sprint(n, suffix)
	}
	return fmt.Sprint(n, "th")
}

// sameAs returns an error with the difference between two forms of an object.
func sameAs(one, other map[string]any) error {
	if found := differ(one, other); found != nil {
		return errors.New(found.what)
	}
	return nil
}
