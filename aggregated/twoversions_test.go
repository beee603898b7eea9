package aggregated_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// later is a second version of the API, in which Notes have their text in another field.
var later = schema.GroupVersion{Group: group, Version: "v2"}

// LaterNote is a Note in the later version.
type LaterNote struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Body string `json:"body"`
}

// LaterNoteList is a list of LaterNotes.
type LaterNoteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LaterNote `json:"items"`
}

func (n *LaterNote) DeepCopyObject() runtime.Object     { return copied(n) }
func (n *LaterNoteList) DeepCopyObject() runtime.Object { return copied(n) }

func addLater(scheme *runtime.Scheme) {
	scheme.AddKnownTypeWithName(later.WithKind("Note"), &LaterNote{})
	scheme.AddKnownTypeWithName(later.WithKind("NoteList"), &LaterNoteList{})
	metav1.AddToGroupVersion(scheme, later)
}

// laterNotes are the same notes in the later version.
type laterNotes struct{ of *notes }

func toLater(n *Note, err error) (*LaterNote, error) {
	if err != nil {
		return nil, err
	}
	return &LaterNote{ObjectMeta: n.ObjectMeta, Body: n.Text}, nil
}

func (n *LaterNote) earlier() *Note { return &Note{ObjectMeta: n.ObjectMeta, Text: n.Body} }

func (l laterNotes) Get(ctx context.Context, key client.ObjectKey) (*LaterNote, error) {
	return toLater(l.of.Get(ctx, key))
}

func (l laterNotes) List(ctx context.Context, namespace string) ([]*LaterNote, error) {
	found, err := l.of.List(ctx, namespace)
	var all []*LaterNote
	for _, one := range found {
		all = append(all, &LaterNote{ObjectMeta: one.ObjectMeta, Body: one.Text})
	}
	return all, err
}

func (l laterNotes) Create(ctx context.Context, wanted *LaterNote) (*LaterNote, error) {
	return toLater(l.of.Create(ctx, wanted.earlier()))
}

func (l laterNotes) Update(ctx context.Context, is, wanted *LaterNote) (*LaterNote, error) {
	return toLater(l.of.Update(ctx, is.earlier(), wanted.earlier()))
}

// versions uses a kind in two versions of a group.
func (w *world) versions(t *testing.T) {
	n := &LaterNote{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "both"}, Body: "one"}
	w.made(t, n)
	w.reads(t, n.Name, "one")
	n.Body = "two"
	if err := w.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	w.reads(t, n.Name, "two")
	for _, text := range []string{"three", "four"} {
		applied := &unstructured.Unstructured{Object: map[string]any{"body": text}}
		applied.SetGroupVersionKind(later.WithKind("Note"))
		applied.SetNamespace(w.Namespace)
		applied.SetName("applied-later")
		if err := w.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("test")); err != nil {
			t.Fatal(err)
		}
		w.reads(t, "applied-later", text)
	}
	earlier := &Note{}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(n), earlier); err != nil {
		t.Fatal(err)
	}
	earlier.Text = "five"
	if err := w.Update(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	w.reads(t, n.Name, "five")
}

// reads reads a note in both versions.
func (w *world) reads(t *testing.T, name, text string) {
	t.Helper()
	key := client.ObjectKey{Namespace: w.Namespace, Name: name}
	one, other := &Note{}, &LaterNote{}
	if err := w.Get(t.Context(), key, one); err != nil || one.Text != text {
		t.Errorf("%s in v1 is %q, want %q: %v", name, one.Text, text, err)
	}
	if err := w.Get(t.Context(), key, other); err != nil || other.Body != text {
		t.Errorf("%s in v2 is %q, want %q: %v", name, other.Body, text, err)
	}
	var all LaterNoteList
	if err := w.List(t.Context(), &all, client.InNamespace(w.Namespace), client.MatchingFields{"metadata.name": name}); err != nil || len(all.Items) != 1 || all.Items[0].Body != text {
		t.Errorf("listed are %+v, want %s: %v", all.Items, name, err)
	}
}
