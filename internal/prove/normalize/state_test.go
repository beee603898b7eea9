package normalize_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// world is the world in which tests read their objects.
var world = normalize.World{
	Namespace: "world-1", Managers: map[string]bool{"op": true}, Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
}

// object returns an object from JSON. owned contains the fields of each manager, in the format of managedFields.
func object(t testing.TB, text string, owned map[string]string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range slices.Sorted(maps.Keys(owned)) {
		fields := &metav1.FieldsV1{}
		fields.SetRawString(owned[manager])
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", FieldsType: "FieldsV1", FieldsV1: fields})
	}
	o.SetManagedFields(entries)
	return o
}

// The state of an object consists of the compared fields, in their normalized form.
func TestWhatIsCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		object string
		owned  map[string]string
		want   string
	}{
		"what the operator owns, and nothing else": {
			`{"spec": {"replicas": 3, "paused": true}, "status": {"ready": 1}}`,
			map[string]string{"op": `{"f:spec": {"f:replicas": {}}}`, "kube-controller-manager": `{"f:status": {"f:ready": {}}}`},
			`spec.replicas=3`,
		},
		"but not where the members of an ApplySet are": {
			`{"metadata": {"annotations": {"applyset.kubernetes.io/contains-group-kinds": "Pod", "applyset.kubernetes.io/additional-namespaces": "b", "a": "1"}}}`,
			map[string]string{"op": `{"f:metadata": {"f:annotations": {"f:a": {}, "f:applyset.kubernetes.io/contains-group-kinds": {}, "f:applyset.kubernetes.io/additional-namespaces": {}}}}`},
			`metadata.annotations.a="1"`,
		},
		"what the user owns": {
			`{"spec": {"replicas": 3}}`, map[string]string{"operon-prove": `{"f:spec": {"f:replicas": {}}}`}, `spec.replicas=3`,
		},
		"nothing of what neither wrote": {`{"spec": {"replicas": 3}}`, map[string]string{"kubelet": `{"f:spec": {"f:replicas": {}}}`}, `none`},
		"a field that is owned as a whole, but for what others own of it": {
			`{"data": {"a": "1", "b": "2"}, "spec": {"x": {"y": [1, {"z": null}]}}}`,
			map[string]string{"op": `{"f:data": {}, "f:spec": {"f:x": {}}}`, "other": `{"f:data": {"f:b": {}}}`},
			`data.a="1" spec.x.y[0]=1 spec.x.y[1].z=null`,
		},
		"elements of lists by what tells them apart": {
			`{"spec": {"containers": [{"name": "web", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}]}, {"name": "other", "image": "j"}]}}`,
			map[string]string{"op": `{"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}`},
			`spec.containers[web].image="i" spec.containers[web].ports[containerPort=80].containerPort=80`,
		},
		"elements of sets, and by number": {
			`{"metadata": {"finalizers": ["a/b", "c/d"]}, "spec": {"l": ["x", "y"]}}`,
			map[string]string{"op": `{"f:metadata": {"f:finalizers": {"v:\"c/d\"": {}}}, "f:spec": {"f:l": {"i:1": {}}}}`},
			`metadata.finalizers[1]="c/d" spec.l[1]="y"`,
		},
		"of metadata what a user may set": {
			`{"metadata": {"uid": "u", "resourceVersion": "7", "generation": 4, "labels": {"app.kubernetes.io/name": "x", "theirs": "y"}, "annotations": {"n": "world-1"},
				"ownerReferences": [{"kind": "Box", "name": "a", "uid": "v", "controller": true}, {"kind": "Box", "name": "b", "uid": "w"}]}}`,
			map[string]string{"op": `{"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}, "f:annotations": {".": {}, "f:n": {}}, "f:uid": {}}}`},
			`metadata.annotations.n="{namespace}" metadata.labels["app.kubernetes.io/name"]="x" metadata.ownerReferences[Box/a]="controller" metadata.ownerReferences[Box/b]="owner"`,
		},
		"generations as what they mean": {
			`{"metadata": {"generation": 4}, "status": {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 4}, {"type": "Other", "observedGeneration": 5}]}}`,
			map[string]string{"op": `{"f:status": {}}`},
			`status.conditions[Other].observedGeneration="ahead" status.conditions[Other].type="Other" status.conditions[Ready].observedGeneration="current" status.conditions[Ready].type="Ready" status.observedGeneration="behind"`,
		},
		"generations that are strings": {
			`{"metadata": {"generation": 4}, "status": {"observedGeneration": "4", "old": {"observedGeneration": "3"}, "hash": {"observedGeneration": "5f"}}}`,
			map[string]string{"op": `{"f:status": {}}`},
			`status.hash.observedGeneration="5f" status.observedGeneration="current" status.old.observedGeneration="behind"`,
		},
		"times of the run as one, the namespace as another": {
			`{"data": {"a": "at 2026-01-01T00:00:05Z in world-1", "b": "2025-12-31T23:59:59Z", "world-1.c": "9999-99-99T99:99:99Z"}}`,
			map[string]string{"op": `{"f:data": {}}`},
			`data.a="at {time} in {namespace}" data.b="2025-12-31T23:59:59Z" data["{namespace}.c"]="9999-99-99T99:99:99Z"`,
		},
		"UIDs as the objects that have them": {
			`{"metadata": {"name": "x", "uid": "0000000a-0000-4000-8000-00000000000b"}, "data": {"0000000a-0000-4000-8000-00000000000b.yaml": "0000000f-0000-4000-8000-00000000000b"}}`,
			map[string]string{"op": `{"f:data": {}}`},
			`data["{uid of Box/x}.yaml"]="0000000f-0000-4000-8000-00000000000b"`,
		},
		"what was observed in no order": {
			`{"spec": {"l": ["b", "a"]}, "status": {"l": ["b", "a"], "m": [{"x": 2}, {"x": 1}]}}`,
			map[string]string{"op": `{"f:spec": {"f:l": {}}, "f:status": {"f:l": {}, "f:m": {}}}`},
			`spec.l[0]="b" spec.l[1]="a" status.l[0]="a" status.l[1]="b" status.m[0].x=2 status.m[1].x=1`,
		},
		"all of what was applied with no field, which is not tracked": {`{"status": {"ready": 1}}`, nil, `apiVersion="example.com/v1" kind="Box" status.ready=1`},
		"what is empty":                              {`{"spec": {"a": {}, "b": []}}`, map[string]string{"op": `{"f:spec": {"f:a": {}, "f:b": {}, "f:gone": {}}}`}, `spec.a={} spec.b=[]`},
		"that it is being deleted":                   {`{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}}`, map[string]string{"op": `{"f:spec": {}}`}, `metadata.deletionTimestamp="set"`},
		"nothing of what only Kubernetes has to end": {`{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion", "kubernetes.io/pvc-protection"]}}`, map[string]string{"op": `{"f:spec": {}}`}, `none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(test.object, "{", `{"apiVersion": "example.com/v1", "kind": "Box",`, 1)
			got := "none"
			if objects := world.Of([]*unstructured.Unstructured{object(t, text, test.owned)}).Objects; len(objects) == 1 {
				var fields []string
				for _, path := range slices.Sorted(maps.Keys(objects[0].Fields)) {
					fields = append(fields, path+"="+objects[0].Fields[path])
				}
				got = strings.Join(fields, " ")
			}
			if got != test.want {
				t.Errorf("compared is\n%s\nand not\n%s", got, test.want)
			}
		})
	}
}

// box returns a ConfigMap of the operator with data.
func box(t testing.TB, name string, data map[string]string, more ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	values, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": %s}`, name, values), map[string]string{"op": `{"f:data": {}}`})
	for _, change := range more {
		change(o)
	}
	return o
}

func of(objects ...*unstructured.Unstructured) *normalize.State { return world.Of(objects) }

func diff(want, got *normalize.State, noise *normalize.Noise) string {
	var all []string
	for _, d := range normalize.Diff(want, got, noise) {
		all = append(all, fmt.Sprintf("%s %s: %s → %s", d.Of, d.Path, d.Want, d.Got))
	}
	return strings.Join(all, "; ")
}

func TestDiff(t *testing.T) {
	t.Parallel()
	a, b := map[string]string{"k": "1", "l": "2"}, map[string]string{"k": "3", "m": "4"}
	got := diff(of(box(t, "x", a), box(t, "y", a)), of(box(t, "x", b), box(t, "z", a)), nil)
	want := `ConfigMap/y : "exists" → ; ConfigMap/z :  → "exists"; ConfigMap/x data.k: "1" → "3"; ConfigMap/x data.l: "2" → ; ConfigMap/x data.m:  → "4"`
	if got != want {
		t.Errorf("it is\n%s\nand not\n%s", got, want)
	}
}

// The owner of a field does not matter if its value is the same.
func TestOwnersOfEqualValues(t *testing.T) {
	t.Parallel()
	text := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1", "b": "2"}}`
	both := of(object(t, text, map[string]string{"op": `{"f:data": {"f:a": {}, "f:b": {}}}`}))
	one := of(object(t, text, map[string]string{"op": `{"f:data": {"f:a": {}}}`, "other": `{"f:data": {"f:b": {}}}`}))
	if got := diff(both, one, nil) + diff(one, both, nil); got != "" {
		t.Errorf("it differs: %s", got)
	}
	changed := of(object(t, strings.Replace(text, `"2"`, `"3"`, 1), map[string]string{"op": `{"f:data": {"f:a": {}}}`, "other": `{"f:data": {"f:b": {}}}`}))
	if got := diff(both, changed, nil); got != `ConfigMap/x data.b: "2" → "3"` {
		t.Errorf("what another one changed is %q", got)
	}
}

func TestNoiseIsLearnt(t *testing.T) {
	t.Parallel()
	list := func(names ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			var all []any
			for _, name := range names {
				all = append(all, map[string]any{"name": name, "value": "v"})
			}
			o.Object["status"] = map[string]any{"members": all, "counted": int64(len(names))}
			fields := &metav1.FieldsV1{}
			fields.SetRawString(`{"f:data": {}, "f:status": {}}`)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "op", FieldsType: "FieldsV1", FieldsV1: fields}})
		}
	}
	noise := &normalize.Noise{}
	noise.Learn(
		of(box(t, "x", map[string]string{"random": "1", "same": "1"}, list("m-1", "m-2"))),
		of(box(t, "x", map[string]string{"random": "2", "same": "1"}, list("m-3", "m-4"))),
	)
	got := diff(
		of(box(t, "x", map[string]string{"random": "1", "same": "1"}, list("m-1", "m-2"))),
		of(box(t, "x", map[string]string{"random": "7", "same": "2"}, list("m-8", "m-9"))), noise)
	if got != `ConfigMap/x data.same: "1" → "2"` {
		t.Errorf("with noise it is %q", got)
	}
	if got := diff(of(box(t, "x", map[string]string{"same": "1"}, list("m-1"))), of(box(t, "x", map[string]string{"same": "1"}, list("m-1", "m-2"))), noise); got != "ConfigMap/x status.counted: 1 → 2" {
		t.Errorf("a member more is %q", got)
	}
}

// An annotation with a qualified key that is random on one kind is random on all: a hash of contents with a UID, for example, on a
// child that only later steps create.
func TestNoiseOfAnnotations(t *testing.T) {
	t.Parallel()
	with := func(kind, key, value string) *normalize.State {
		return of(object(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": %q, "metadata": {"name": "x", "annotations": {%q: %q}}}`, kind, key, value),
			map[string]string{"op": fmt.Sprintf(`{"f:metadata": {"f:annotations": {"f:%s": {}}}}`, key)}))
	}
	for key, want := range map[string]string{
		"example.com/hash": "", "hash": `Service/x metadata.annotations.hash: "3" → "4"`,
	} {
		noise := &normalize.Noise{}
		noise.Learn(with("ConfigMap", key, "1"), with("ConfigMap", key, "2"))
		if got := diff(with("Service", key, "3"), with("Service", key, "4"), noise); got != want {
			t.Errorf("%s: it is %q, want %q", key, got, want)
		}
		if got := diff(with("Service", key, "3"), with("Service", "other.example.com/b", "4"), noise); !strings.Contains(got, key) {
			t.Errorf("%s: its absence is %q", key, got)
		}
	}
}

// A field that is random in existing elements is random in an added element, but the addition itself is not random.
func TestNoiseOfCountedKeys(t *testing.T) {
	t.Parallel()
	noise := &normalize.Noise{}
	noise.Learn(of(box(t, "x", map[string]string{"0": "vm-a", "1": "vm-b"})), of(box(t, "x", map[string]string{"0": "vm-c", "1": "vm-d"})))
	three := of(box(t, "x", map[string]string{"0": "vm-e", "1": "vm-f", "2": "vm-g"}))
	if got := diff(three, of(box(t, "x", map[string]string{"0": "vm-h", "1": "vm-i", "2": "vm-j"})), noise); got != "" {
		t.Errorf("with other names it is %q", got)
	}
	if got := diff(three, of(box(t, "x", map[string]string{"0": "vm-h", "1": "vm-i"})), noise); !strings.HasPrefix(got, "ConfigMap/x data.2: ") {
		t.Errorf("with one less it is %q", got)
	}
}

func generated(prefix string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.SetGenerateName(prefix) }
}

func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	one, two, three := map[string]string{"n": "1"}, map[string]string{"n": "2"}, map[string]string{"n": "3"}
	want := of(box(t, "x-a1", one, generated("x-")), box(t, "x-b2", two, generated("x-")))
	for name, test := range map[string]struct {
		got  *normalize.State
		want string
	}{
		"the same in another order": {of(box(t, "x-c3", two, generated("x-")), box(t, "x-d4", one, generated("x-"))), ""},
		"one more":                  {of(box(t, "x-c3", two, generated("x-")), box(t, "x-d4", one, generated("x-")), box(t, "x-e5", one, generated("x-"))), `ConfigMap/x-* :  → "exists"`},
		"one less":                  {of(box(t, "x-c3", two, generated("x-"))), `ConfigMap/x-* : "exists" → `},
		"one is other":              {of(box(t, "x-c3", three, generated("x-")), box(t, "x-d4", one, generated("x-"))), `ConfigMap/x-* data.n: "2" → "3"`},
		"another prefix":            {of(box(t, "x-c3", two, generated("x-")), box(t, "y-d4", one, generated("y-"))), `ConfigMap/x-* : "exists" → ; ConfigMap/y-* :  → "exists"`},
	} {
		got := diff(want, test.got, nil)
		if got != test.want {
			t.Errorf("%s: it is %q", name, got)
		}
	}
}

func TestWorldOf(t *testing.T) {
	t.Parallel()
	of := func(managers ...string) (all runlog.Trace) {
		for _, manager := range managers {
			all.Requests = append(all.Requests, requestlog.Request{Verb: "patch", Manager: manager})
		}
		all.Requests = append(all.Requests, requestlog.Request{Verb: "get", Manager: "reader"})
		return all
	}
	w := normalize.WorldOf(of("a", "operon-prove"), of("b"))
	if got := slices.Sorted(maps.Keys(w.Managers)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the operator's managers are %v", got)
	}
	began := time.Unix(1000, 0)
	if w := normalize.WorldOf(runlog.Trace{Began: began, Started: began.Add(time.Minute)}); !w.Began.Equal(began) {
		t.Errorf("times of what was there before the operator started are not the run's: it began %s", w.Began)
	}
}

// After learning from two states, they are considered the same. A state is always the same as
// itself.
func TestLearningHidesAll(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		some := func() *normalize.State {
			var all []*unstructured.Unstructured
			used := map[string]bool{}
			for range random.IntN(7) {
				name := fmt.Sprint("n-", random.IntN(9))
				if used[name] {
					continue
				}
				used[name] = true
				o := box(t, name, map[string]string{fmt.Sprint("k", random.IntN(3)): fmt.Sprint(random.IntN(3))})
				if random.IntN(3) == 0 {
					o.SetGenerateName("n-")
				}
				all = append(all, o)
			}
			return of(all...)
		}
		a, b := some(), some()
		if got := diff(a, a, nil); got != "" {
			t.Fatalf("seed %d: a state is not the same as itself: %s", seed, got)
		}
		noise := &normalize.Noise{}
		noise.Learn(a, b)
		if got := diff(a, b, noise); got != "" {
			t.Fatalf("seed %d: after learning there is %s", seed, got)
		}
	}
}

// No object that an API server could send breaks the reader, and each object equals itself.
func FuzzFields(f *testing.F) {
	f.Add(`{"spec": {"a": [{"name": "x"}, {"name": "x"}], "b": [[1], 2, null]}}`, `{"f:spec": {"f:a": {"k:{\"name\":\"x\"}": {"f:name": {}}, "i:7": {}, "v:1": {}}, "f:b": {}}}`)
	f.Add(`{"status": {"observedGeneration": "no", "conditions": "none"}}`, `{"f:status": {}}`)
	f.Add(`{"metadata": {"labels": [], "finalizers": {"a": 1}, "ownerReferences": 7}}`, `{"f:metadata": {"f:labels": {}, "f:finalizers": {"f:a": {}}}}`)
	f.Fuzz(func(t *testing.T, fields, owned string) {
		o := &unstructured.Unstructured{}
		if json.Unmarshal([]byte(fields), &o.Object) != nil || o.Object == nil {
			t.Skip("no object")
		}
		if _, isMap := o.Object["metadata"].(map[string]any); o.Object["metadata"] != nil && !isMap {
			t.Skip("no API server sends that")
		}
		raw := &metav1.FieldsV1{}
		raw.SetRawString(owned)
		o.SetKind("Box")
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "op", FieldsType: "FieldsV1", FieldsV1: raw}})
		s := of(o)
		if got := diff(s, of(o), nil); got != "" {
			t.Errorf("it is not like itself: %s", got)
		}
	})
}
