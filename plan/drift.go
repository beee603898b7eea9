package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Drift is a field that is not as it was composed.
type Drift struct {
	// Field is its path, such as spec.template.spec.containers[name=web].image.
	Field string
	// By is the field manager that owns it now, where managedFields tell.
	By string
}

// Hash identifies what was composed, whatever the order of its fields.
func Hash(child *unstructured.Unstructured) (string, error) {
	data, err := json.Marshal(child.Object) // maps are written in the order of their keys
	if err != nil {
		return "", fmt.Errorf("%s: %w", Of(child), err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// Compare finds the composed fields that the live object holds otherwise. What was not
// composed is not looked at: defaults of the server and fields of other managers are
// theirs. Quantities are compared by amount, and lists whose elements have a name by it.
func Compare(desired, live *unstructured.Unstructured, manager string) []Drift {
	c := comparison{}
	for _, key := range slices.Sorted(maps.Keys(desired.Object)) {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			c.metadata(desired, live)
		default:
			c.value(step{}.field(key), desired.Object[key], live.Object[key])
		}
	}
	for i := range c.found {
		c.drift[i].By = holder(live, c.found[i], manager)
	}
	return c.drift
}

// comparison collects differences, each as text and as managedFields write it.
type comparison struct {
	drift []Drift
	found []fieldpath.Path
}

// step is a position in an object.
type step struct {
	text string
	path fieldpath.Path
}

func (s step) field(name string) step {
	text := name
	if s.text != "" {
		text = s.text + "." + name
	}
	return s.with(text, fieldpath.PathElement{FieldName: &name})
}

func (s step) element(key, name string) step {
	fields := fieldpath.KeyByFields(key, name)
	return s.with(fmt.Sprintf("%s[%s=%s]", s.text, key, name), fieldpath.PathElement{Key: fields})
}

func (s step) index(i int) step {
	return s.with(fmt.Sprintf("%s[%d]", s.text, i), fieldpath.PathElement{Index: &i})
}

func (s step) with(text string, element fieldpath.PathElement) step {
	return step{text: text, path: append(slices.Clip(s.path), element)}
}

func (c *comparison) differs(at step) {
	c.drift = append(c.drift, Drift{Field: at.text})
	c.found = append(c.found, at.path)
}

// metadata compares what a composer can set there.
func (c *comparison) metadata(desired, live *unstructured.Unstructured) {
	at := step{}.field("metadata")
	for name, pair := range map[string][2]map[string]string{
		"labels":      {desired.GetLabels(), live.GetLabels()},
		"annotations": {desired.GetAnnotations(), live.GetAnnotations()},
	} {
		for _, key := range slices.Sorted(maps.Keys(pair[0])) {
			if got, ok := pair[1][key]; !ok || got != pair[0][key] {
				c.differs(at.field(name).field(key))
			}
		}
	}
	for _, want := range desired.GetOwnerReferences() {
		held := slices.ContainsFunc(live.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == want.UID })
		if !held {
			c.differs(at.field("ownerReferences"))
		}
	}
}

func (c *comparison) value(at step, want, got any) {
	switch want := want.(type) {
	case nil:
	case map[string]any:
		c.object(at, want, got)
	case []any:
		c.list(at, want, got)
	default:
		if !equal(want, got) {
			c.differs(at)
		}
	}
}

func (c *comparison) object(at step, want map[string]any, got any) {
	live, ok := got.(map[string]any)
	if !ok && (got != nil || !empty(want)) {
		c.differs(at)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		c.value(at.field(key), want[key], live[key])
	}
}

// empty tells whether a map says nothing, however deep.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(value)), func(v any) bool { return !empty(v) })
	case []any:
		return len(value) == 0
	}
	return false
}

func (c *comparison) list(at step, want []any, got any) {
	live, ok := got.([]any)
	if !ok && (got != nil || len(want) > 0) {
		c.differs(at)
		return
	}
	if key := listKey(want, live); key != "" {
		c.keyedList(at, key, want, live)
		return
	}
	if len(want) != len(live) {
		c.differs(at)
		return
	}
	for i := range want {
		c.value(at.index(i), want[i], live[i])
	}
}

// keyedList compares elements of the same key. Further elements are other managers'.
func (c *comparison) keyedList(at step, key string, want, live []any) {
	byKey := map[string]any{}
	for _, element := range live {
		byKey[keyOf(element, key)] = element
	}
	for _, element := range want {
		name := keyOf(element, key)
		c.value(at.element(key, name), element, byKey[name])
	}
}

// listKeys are the fields by which lists of Kubernetes objects are merged, most common
// first. A list whose elements all have one of them, each with a value of its own, is
// taken to be merged by it.
var listKeys = []string{"name", "mountPath", "containerPort", "port", "type", "key", "ip", "topologyKey", "uid"}

func listKey(lists ...[]any) string {
	for _, key := range listKeys {
		if !slices.ContainsFunc(lists, func(list []any) bool { return !distinct(list, key) }) {
			return key
		}
	}
	return ""
}

func distinct(list []any, key string) bool {
	seen := map[string]bool{}
	for _, element := range list {
		name := keyOf(element, key)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return len(list) > 0
}

func keyOf(element any, key string) string {
	object, ok := element.(map[string]any)
	if !ok || object[key] == nil {
		return ""
	}
	return fmt.Sprint(object[key])
}

// equal compares leaves. Numbers may be of different Go types; a quantity may be written
// in several ways. That a composer writes another form of the same quantity is seen by
// the hash, not here.
func equal(want, got any) bool {
	if reflect.DeepEqual(want, got) || fmt.Sprint(want) == fmt.Sprint(got) && want != nil && got != nil {
		return true
	}
	if got == nil {
		return isZero(want)
	}
	a, errA := resource.ParseQuantity(fmt.Sprint(want))
	b, errB := resource.ParseQuantity(fmt.Sprint(got))
	return errA == nil && errB == nil && a.Cmp(b) == 0
}

// isZero: the server leaves out what is empty or false.
func isZero(value any) bool {
	return value == nil || reflect.ValueOf(value).IsZero()
}

// holder finds the manager, other than ours, that owns a field or something in it.
func holder(live *unstructured.Unstructured, path fieldpath.Path, manager string) string {
	var names []string
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == manager || entry.FieldsV1 == nil {
			continue
		}
		var owned fieldpath.Set
		if err := owned.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			continue // written by something that is not Kubernetes; it names nobody
		}
		if owned.Has(path) {
			names = append(names, entry.Manager)
		}
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}
