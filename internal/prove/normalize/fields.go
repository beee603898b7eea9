package normalize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type managed = metav1.ManagedFieldsEntry

// fields splits an object into paths and values.
type fields struct {
	reading
	live   *unstructured.Unstructured
	theirs *fieldpath.Set // fields that managers other than operator and user own
}

// compared are the fields of metadata that a user may set and that have a meaning.
var compared = []string{"labels", "annotations", "finalizers"}

// sets are annotations that list where the members of an ApplySet are. By the specification of ApplySets, they may list more than there is, so
// their values depend on the order of events.
var sets = []string{"applyset.kubernetes.io/contains-group-kinds", "applyset.kubernetes.io/additional-namespaces"}

// withoutSets returns a field of metadata without the annotations in sets.
func withoutSets(v any) any {
	all, is := v.(map[string]any)
	if !is || !slices.ContainsFunc(sets, func(name string) bool { return all[name] != nil }) {
		return v
	}
	kept := maps.Clone(all)
	for _, name := range sets {
		delete(kept, name)
	}
	return kept
}

// owned are the fields that a set names.
func (f fields) owned(set *fieldpath.Set) map[string]string {
	into := f.metadata()
	for _, key := range keys(f.live.Object) {
		step := named(key)
		mine, theirs := set.WithPrefix(step), f.theirs.WithPrefix(step)
		if key == "metadata" {
			inside, _, _ := unstructured.NestedMap(f.live.Object, "metadata")
			for _, name := range compared {
				if v, there := inside[name]; there {
					step := named(name)
					f.walk(into, "metadata."+name, withoutSets(v), mine.WithPrefix(step), theirs.WithPrefix(step), mine.Members.Has(step))
				}
			}
			continue
		}
		f.walk(into, key, f.live.Object[key], mine, theirs, set.Members.Has(step))
	}
	return into
}

// metadata adds the compared fields of metadata, regardless of their owner.
func (f fields) metadata() map[string]string {
	into := map[string]string{}
	if f.live.GetDeletionTimestamp() != nil {
		into["metadata.deletionTimestamp"] = `"set"`
	}
	for _, owner := range f.live.GetOwnerReferences() {
		role := `"owner"`
		if owner.Controller != nil && *owner.Controller {
			role = `"controller"`
		}
		into["metadata.ownerReferences["+f.owner(owner.UID, owner.Kind, owner.Name)+"]"] = role
	}
	return into
}

// all adds all fields that could be compared, regardless of their owner.
func (f fields) all() map[string]string {
	into := f.metadata()
	for _, key := range keys(f.live.Object) {
		if key != "metadata" {
			f.flatten(into, key, f.live.Object[key], &fieldpath.Set{})
		}
	}
	for _, name := range compared {
		if v, there, _ := unstructured.NestedFieldNoCopy(f.live.Object, "metadata", name); there {
			f.flatten(into, "metadata."+name, withoutSets(v), &fieldpath.Set{})
		}
	}
	return into
}

// walk adds the parts of a value that a set owns. A member of the set without children owns
// everything beneath it, except what others own of it.
func (f fields) walk(into map[string]string, path string, v any, mine, theirs *fieldpath.Set, member bool) {
	if mine.Empty() {
		if member {
			f.flatten(into, path, v, theirs)
		}
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range keys(v) {
			step := named(key)
			f.walk(into, join(path, f.neutral(key)), v[key], mine.WithPrefix(step), theirs.WithPrefix(step), mine.Members.Has(step))
		}
	case []any:
		f.walkList(into, path, v, mine, theirs)
	}
}

func (f fields) walkList(into map[string]string, path string, list []any, mine, theirs *fieldpath.Set) {
	names := identities(list)
	steps := map[int][]fieldpath.PathElement{}
	see := func(step fieldpath.PathElement) {
		i := slices.IndexFunc(list, func(element any) bool { return means(step, element) })
		if step.Index != nil {
			i = *step.Index
		}
		if i >= 0 && i < len(list) && !slices.ContainsFunc(steps[i], step.Equals) {
			steps[i] = append(steps[i], step)
		}
	}
	mine.Members.Iterate(see)
	mine.Children.Iterate(see)
	for i, element := range list {
		for _, step := range steps[i] {
			beneath := mine.WithPrefix(step)
			f.walk(into, path+"["+f.neutral(names[i])+"]", element, beneath, theirs.WithPrefix(step), mine.Members.Has(step))
		}
	}
}

// means reports whether an element of a list is the one that a step of a path names.
func means(step fieldpath.PathElement, element any) bool {
	switch {
	case step.Value != nil:
		return value.Equals(*step.Value, value.NewValueInterface(element))
	case step.Key != nil:
		fields, ok := element.(map[string]any)
		if !ok {
			return false
		}
		for _, key := range *step.Key {
			v, there := fields[key.Name]
			if there && !value.Equals(key.Value, value.NewValueInterface(v)) {
				return false // a missing key was defaulted
			}
		}
		return true
	}
	return false
}

// flatten adds a value and everything beneath it, except what others own.
func (f fields) flatten(into map[string]string, path string, v any, theirs *fieldpath.Set) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			into[path] = "{}"
		}
		for _, key := range keys(v) {
			step := named(key)
			beneath := theirs.WithPrefix(step)
			if beneath.Empty() && theirs.Members.Has(step) {
				continue
			}
			f.flatten(into, join(path, f.neutral(key)), v[key], beneath)
		}
	case []any:
		if len(v) == 0 {
			into[path] = "[]"
		}
		names := identities(v)
		if strings.HasPrefix(path, "status.") {
			v = sorted(v)
		}
		for i, element := range v {
			f.flatten(into, path+"["+f.neutral(names[i])+"]", element, &fieldpath.Set{})
		}
	default:
		into[path] = f.scalar(path, v)
	}
}

// scalar returns a value as JSON.
func (f fields) scalar(path string, v any) string {
	if strings.HasPrefix(path, "status.") && strings.HasSuffix(path, ".observedGeneration") {
		return f.observed(v)
	}
	if text, ok := v.(string); ok {
		v = f.timeless(f.neutral(text))
	}
	return asJSON(v)
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// timeless returns a text with a placeholder for each time since the run began.
func (w World) timeless(text string) string {
	if len(text) < len(time.DateTime) {
		return text
	}
	return moment.ReplaceAllStringFunc(text, func(found string) string {
		at, err := time.Parse(time.RFC3339Nano, found)
		if err != nil || at.Before(w.Began.Truncate(time.Second)) {
			return found
		}
		return "{time}"
	})
}

// observed returns how a generation in a status relates to the generation of the object: the number
// itself depends on the number of writes. Some operators store it as a string.
func (f fields) observed(v any) string {
	seen, ok := v.(int64)
	if text, is := v.(string); is {
		parsed, err := strconv.ParseInt(text, 10, 64)
		seen, ok = parsed, err == nil
	}
	switch {
	case !ok:
		return asJSON(v)
	case seen == f.live.GetGeneration():
		return `"current"`
	case seen < f.live.GetGeneration():
		return `"behind"`
	}
	return `"ahead"`
}

func asJSON(v any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// named returns the step of a path to a field.
func named(name string) fieldpath.PathElement { return fieldpath.PathElement{FieldName: &name} }

// identifying are fields that can identify the elements of a list. The first that does is used.
var identifying = []string{"name", "type", "key", "mountPath", "containerPort", "port", "ip", "uid"}

// identities returns names for the elements of a list: the identifying field, or else their numbers.
func identities(list []any) []string {
	for _, key := range identifying {
		if names, ok := namedBy(list, key); ok {
			return names
		}
	}
	numbers := make([]string, len(list))
	for i := range list {
		numbers[i] = strconv.Itoa(i)
	}
	return numbers
}

func namedBy(list []any, key string) ([]string, bool) {
	names := make([]string, len(list))
	for i, element := range list {
		fields, ok := element.(map[string]any)
		if !ok {
			return nil, false
		}
		switch v := fields[key].(type) {
		case string:
			names[i] = v
		case int64, float64:
			names[i] = fmt.Sprint(key, "=", v)
		default:
			return nil, false
		}
		if names[i] == "" || slices.Contains(names[:i], names[i]) {
			return nil, false
		}
	}
	return names, len(list) > 0
}

// sorted sorts a list of scalars, because observed lists do not have an order. Other lists are unchanged.
func sorted(list []any) []any {
	for _, element := range list {
		switch element.(type) {
		case map[string]any, []any:
			return list
		}
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b any) int { return cmp.Compare(asJSON(a), asJSON(b)) })
}

func keys(m map[string]any) []string {
	all := make([]string, 0, len(m))
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// join adds a field to a path. Names that contain dots are put in brackets.
func join(path, key string) string {
	if strings.ContainsAny(key, ".[]/ ") || key == "" {
		return path + "[" + strconv.Quote(key) + "]"
	}
	return path + "." + key
}

// once returns a function that works only the first time.
func once(of func() map[string]string) func() map[string]string { return sync.OnceValue(of) }
