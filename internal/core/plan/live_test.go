package plan

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/operon-framework/operon/internal/core/readiness"
)

func FuzzWithoutOwners(f *testing.F) {
	for _, seed := range []string{
		`{"f:data":{"f:a":{}},"f:metadata":{"f:labels":{"f:x":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"a}{\\\"b\"}":{}}}}`,
		`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"1\"}":{}},"f:labels":{}}}`,
		`{"f:metadata":{"f:ownerReferences":{}}}`,
		`{"f:spec":{"f:ownerReferences":{"f:a":{}}}}`,
		`{"f:metadata":{"f:annotations":{"f:\"f:ownerReferences\":{":{}}}}`,
		`{}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fields string) {
		before := &fieldpath.Set{}
		if err := before.FromJSON(strings.NewReader(fields)); err != nil {
			t.Skip("the API server writes no such set")
		}
		canonical, err := before.ToJSON()
		if err != nil {
			t.Skip("the API server writes no such set")
		}
		after := &fieldpath.Set{}
		if err := after.FromJSON(strings.NewReader(withoutOwners(string(canonical)))); err != nil {
			t.Fatalf("of %s is left what is no set: %s", canonical, withoutOwners(string(canonical)))
		}
		before.Difference(after).Union(after.Difference(before)).Iterate(func(path fieldpath.Path) {
			if !strings.Contains(path.String(), "ownerReferences") {
				t.Errorf("of %s, %s was changed too", canonical, path)
			}
		})
	})
}

func TestWhatIsKeptOfAnObject(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Free", "metadata": map[string]any{
			"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7",
			"labels":      map[string]any{OwnerLabel: "owner", "theirs": "x"},
			"annotations": map[string]any{HashAnnotation: "h"},
		},
		"spec": map[string]any{"free": map[string]any{"b": int64(1), "a": int64(2)}},
	}}
	fields := &metav1.FieldsV1{}
	fields.SetRawString(`{"f:spec":{"f:free":{}}}`)
	object.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "us", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: fields},
		{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", FieldsV1: fields},
	})
	live := LiveOf(object.GroupVersionKind(), object, "us")
	if live.Owner != "owner" || live.Hash != "h" || live.ID().String() != "Free a" || len(live.Managed) != 1 {
		t.Errorf("kept is %+v", live)
	}
	if got := strings.Join(live.Maps["spec.free"], ","); got != "a,b" {
		t.Errorf("of a map that is owned as a whole the keys %q are kept, want a,b", got)
	}
}

func TestWhatMakesADifference(t *testing.T) {
	t.Parallel()
	ours := Managed{Manager: "us", Applied: true, Fields: `{"f:a":{}}`}
	tests := []struct {
		name   string
		change func(*Live)
		same   bool
	}{
		{"another resource version", func(l *Live) { l.ResourceVersion = "2" }, true},
		{"what others manage", func(l *Live) { l.Managed = append(l.Managed, Managed{Manager: "them"}) }, true},
		{"what is ours", func(l *Live) { l.Managed = []Managed{{Manager: "us", Applied: true, Fields: `{}`}} }, false},
		{"its state", func(l *Live) { l.State = readiness.State{Status: readiness.Failed} }, false},
		{"its deletion", func(l *Live) { l.Deleting = true }, false},
		{"its finalizers", func(l *Live) { l.Finalizers = []string{"a"} }, false},
		{"its owner", func(l *Live) { l.References = []metav1.OwnerReference{{UID: "other"}} }, false},
		{"the mark of its owner", func(l *Live) { l.Owner = "" }, false},
		{"a map that was emptied", func(l *Live) { l.Maps = map[string][]string{"spec": nil} }, false},
		{"another object of the name", func(l *Live) { l.UID = "new" }, false},
		{"anything of an object that is read as a whole", func(l *Live) { l.Object, l.ResourceVersion = &unstructured.Unstructured{}, "2" }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before, after := &Live{ResourceVersion: "1", Marks: Marks{Owner: "o"}, Managed: []Managed{ours}}, &Live{ResourceVersion: "1", Marks: Marks{Owner: "o"}, Managed: []Managed{ours}}
			test.change(after)
			if got := before.SameAs(after, "us"); got != test.same {
				t.Errorf("it is the same: %v, want %v", got, test.same)
			}
		})
	}
}
