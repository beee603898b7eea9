package author

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// store returns Secrets by their keys for the reads of a reconcile, and records the selections of lists.
type store struct {
	Reads
	secrets  map[string]*corev1.Secret
	selected []watches.Selection
	err      error
}

func (s *store) Get(_ context.Context, object client.Object) (bool, error) {
	found := s.secrets[client.ObjectKeyFromObject(object).String()]
	if found != nil {
		found.DeepCopyInto(object.(*corev1.Secret))
	}
	return found != nil, s.err
}

func (s *store) List(_ context.Context, _ client.ObjectList, selection watches.Selection) error {
	s.selected = append(s.selected, selection)
	return s.err
}

// direct reads Secrets by their keys, bypassing the cache.
type direct struct {
	client.Reader
	secrets map[string]*corev1.Secret
	err     error
}

func (d direct) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if found := d.secrets[key.String()]; found != nil {
		found.DeepCopyInto(object.(*corev1.Secret))
		return nil
	}
	if d.err != nil {
		return d.err
	}
	return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
}

var owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "owner"}}

func secret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}, Data: data}
}

// A value is generated once: neither a cache that lags behind nor a restart replaces it.
func TestGeneratedSecret(t *testing.T) {
	t.Parallel()
	generate := func(data map[string][]byte) {
		if data["password"] == nil {
			data["password"] = []byte("new")
		}
	}
	away := errors.New("away")
	for name, c := range map[string]struct {
		cached, stored *corev1.Secret
		readErr        error
		want           map[string]string
		err            error
	}{
		"nothing is stored":              {want: map[string]string{"user": "me", "password": "new"}},
		"the cache has it":               {cached: secret(map[string][]byte{"password": []byte("old")}), want: map[string]string{"user": "me", "password": "old"}},
		"the cache lags behind":          {stored: secret(map[string][]byte{"password": []byte("old")}), want: map[string]string{"user": "me", "password": "old"}},
		"a key was deleted":              {cached: secret(map[string][]byte{"x": nil}), stored: secret(map[string][]byte{"x": nil}), want: map[string]string{"user": "me", "x": "", "password": "new"}},
		"the API server does not answer": {readErr: away, err: away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(s *corev1.Secret) map[string]*corev1.Secret {
				if s == nil {
					return nil
				}
				return map[string]*corev1.Secret{"a/s": s}
			}
			out := NewCompositionWith(owner, &store{secrets: of(c.cached)}, direct{secrets: of(c.stored), err: c.readErr}, nil)
			declared := secret(map[string][]byte{"user": []byte("me")})
			if err := out.GeneratedSecret(t.Context(), declared, generate); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if c.err != nil {
				if len(out.Children()) > 0 {
					t.Error("a Secret is declared whose values are unknown")
				}
				return
			}
			got := map[string]string{}
			for key, value := range declared.Data {
				got[key] = string(value)
			}
			if !maps.Equal(got, c.want) || len(out.Children()) != 1 {
				t.Errorf("it has %v, want %v", got, c.want)
			}
		})
	}
	if err := NewComposition(owner, &store{err: away}).GeneratedSecret(t.Context(), secret(nil), generate); !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}

// Reads default to the owner's namespace, and lists must have a selection that limits the cache.
func TestReads(t *testing.T) {
	t.Parallel()
	from := &store{secrets: map[string]*corev1.Secret{"a/s": secret(nil)}}
	out := NewComposition(owner, from)
	for namespace, want := range map[string]bool{"": true, "a": true, "b": false} {
		object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
		if found, err := out.Get(t.Context(), object); err != nil || found != want {
			t.Errorf("in namespace %q it is found: %t, %v", namespace, found, err)
		}
	}
	labels := client.MatchingLabels{"a": "b"}
	for i, options := range [][]client.ListOption{nil, {client.InNamespace("")}, {Everything}, {Everything, SharedCache}, {client.UnsafeDisableDeepCopy}} {
		if err := out.List(t.Context(), &corev1.SecretList{}, labels, options...); err != nil {
			t.Fatal(err)
		}
		want := watches.Selection{Namespace: []string{"a", "", "a", "a", "a"}[i], Labels: labels, Everything: i == 2 || i == 3, Shared: i == 3, Uncopied: i == 4}
		if got := from.selected[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("selection %+v, want %+v", got, want)
		}
	}
	for _, refused := range []client.ListOption{client.Limit(1), client.Continue("x"), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("a", "b")}} {
		if err := out.List(t.Context(), &corev1.SecretList{}, nil, refused); err == nil || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%T: error %v", refused, err)
		}
	}
	from.err = errors.New("away")
	_, err := NewReader(owner, from).Get(t.Context(), secret(nil))
	if err == nil || err.Error() != "get *v1.Secret a/s: away" {
		t.Errorf("error %v", err)
	}
	if err := out.List(t.Context(), &corev1.SecretList{}, labels); err == nil || err.Error() != "list *v1.SecretList: away" {
		t.Errorf("error %v", err)
	}
	if err := NewComposition(owner, nil).List(t.Context(), &corev1.SecretList{}, labels); !errors.Is(err, errNoReads) {
		t.Errorf("error %v", err)
	}
}

// Declarations keep their order and options. After Wait, Fail or Partial, more may be declared later.
func TestDeclared(t *testing.T) {
	t.Parallel()
	out := NewComposition(owner, nil)
	first, second := secret(nil), secret(nil)
	broken := errors.New("broken")
	out.Child(first)
	out.Child(second, After(first), Allow(plan.MayAdopt), Invalid(broken), ReadyAs("self.ok", func(*unstructured.Unstructured) (bool, string) { return false, "it is not" }))
	got := Declared(out)
	if len(got.Children) != 2 || got.Children[0].Object != client.Object(first) || got.Incomplete {
		t.Fatalf("declared %+v", got)
	}
	child := got.Children[1]
	if len(child.After) != 1 || child.Policy&plan.MayAdopt == 0 || !errors.Is(child.Err, broken) || !slices.Equal(child.ReadyWords, []string{"self.ok"}) {
		t.Errorf("the second child is %+v", child)
	}
	for name, do := range map[string]func(*Composition){
		"partial": (*Composition).Partial,
		"waits":   func(c *Composition) { c.Wait("Reason", "message") },
		"fails":   func(c *Composition) { c.Fail("Reason", "message") },
	} {
		out := NewComposition(owner, nil)
		do(out)
		if !Declared(out).Incomplete {
			t.Errorf("%s, and what is not declared would be pruned", name)
		}
	}
}

// All functions have to agree that a child is ready.
func TestReadiness(t *testing.T) {
	t.Parallel()
	yes := ReadyWhen(func(*unstructured.Unstructured) (bool, string) { return true, "" })
	no := ReadyWhen(func(*unstructured.Unstructured) (bool, string) { return false, "it is down" })
	for _, c := range []struct {
		options []ChildOption
		ready   bool
	}{{nil, true}, {[]ChildOption{yes}, true}, {[]ChildOption{yes, no}, false}} {
		ready, why, err := Ask(&unstructured.Unstructured{}, c.options...)
		if ready != c.ready || (why == "it is down") == c.ready || err != nil {
			t.Errorf("%d functions: %t %q %v", len(c.options), ready, why, err)
		}
	}
}

// The most severe outcome applies, and the shortest of several durations.
func TestVerdict(t *testing.T) {
	t.Parallel()
	out := NewFinalization(owner, nil, nil)
	out.RequeueAfter(time.Hour)
	out.RequeueAfter(time.Minute)
	out.RequeueAfter(2 * time.Hour)
	out.Event("Began", "m")
	out.Warning("Odd", "m")
	found := Finalized(out)
	if found.Again != time.Minute || len(found.Events) != 2 || found.Events[1].Type != corev1.EventTypeWarning || found.Outcome().Kind() != outcome.KindDone {
		t.Errorf("%+v", found)
	}
	out.Wait("Waits", "m")
	out.Fail("Fails", "m")
	if got := Finalized(out).Outcome(); got.Kind() != outcome.KindStalled || got.Reason() != "Fails" {
		t.Errorf("outcome %v", got)
	}
	out.RequeueAfter(-time.Second)
	if got := Finalized(out).Again; got != time.Millisecond {
		t.Errorf("a negative duration is %s", got)
	}
	if out.Client() != nil {
		t.Error("a client out of nothing")
	}
	cause := errors.New("cause")
	terminal := &TerminalError{"Reason", cause}
	if !errors.Is(terminal, cause) || terminal.Error() != "cause" || terminal.Stalled() != "Reason" {
		t.Errorf("%v", terminal)
	}
}

// Observe reads children as they are, and can report more than their state.
func TestObserved(t *testing.T) {
	t.Parallel()
	live := map[string]runtime.Object{"s": secret(map[string][]byte{"a": []byte("b")})}
	away := errors.New("away")
	seen := NewObserved(owner, nil, nil, func(_ context.Context, object client.Object) (runtime.Object, error) {
		if object.GetName() == "broken" {
			return nil, away
		}
		return live[object.GetName()], nil
	})
	child := secret(nil)
	if found, err := seen.Child(t.Context(), child); !found || err != nil || string(child.Data["a"]) != "b" {
		t.Errorf("the child is %+v, %v", child, err)
	}
	child.Data["a"][0] = 'c'
	if kept := live["s"].(*corev1.Secret); string(kept.Data["a"]) != "b" {
		t.Error("a change of the copy changed the cache")
	}
	child.Name = "missing"
	if found, err := seen.Child(t.Context(), child); found || err != nil {
		t.Errorf("a missing child is found: %v", err)
	}
	child.Name = "broken"
	if _, err := seen.Child(t.Context(), child); !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
	seen.NotReady("NoBackup", "m")
	seen.Degraded("Slow", "m")
	if got := Seen(seen); got.Degraded == nil || got.Degraded.Reason != "Slow" || got.Outcome().Reason() != "NoBackup" {
		t.Errorf("%+v", got)
	}
}

// rooms is a provider that does nothing.
type rooms struct{ external.Provider[int, string] }

// All problems with declared external resources are reported in one error.
func TestExternal(t *testing.T) {
	t.Parallel()
	out := NewExternalComposition(owner, nil)
	kind := ExternalKind(out, "room", external.Provider[int, string](rooms{}))
	kind.Declare("main", 1)
	got, err := DeclaredExternal(out)
	if err != nil || len(got.Declared) != 1 || got.Declared[0].Ref.String() != "room/main" || len(got.Kinds) != 1 {
		t.Fatalf("declared %+v, %v", got, err)
	}
	kind.Declare("main", 2)
	kind.Declare("Not A Name", 1)
	ExternalKind(out, "room", external.Provider[int, string](rooms{}))
	ExternalKind(out, "No Kind", external.Provider[int, string](rooms{}))
	_, err = DeclaredExternal(out)
	var invalid *InvalidExternalError
	if !errors.As(err, &invalid) || invalid.Unwrap() == nil {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"room/main is declared twice", `"room/Not A Name"`, `the external kind "room" is declared twice`, `"No Kind/x"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want also %q", err, part)
		}
	}
}

// The state of an external resource has the type that its provider uses.
func TestKnownExternal(t *testing.T) {
	t.Parallel()
	out := NewCompositionWith(owner, nil, nil, map[string][]external.Known[any]{"room": {{Name: "main"}}})
	if known, err := External[string](out, "room"); err != nil || len(known) != 1 || known[0].Name != "main" {
		t.Errorf("%+v, %v", known, err)
	}
	if known, err := External[string](out, "other"); err != nil || len(known) != 0 {
		t.Errorf("%+v, %v", known, err)
	}
	if before := (&UpgradeContext{From: "1.0.0"}).Before("2.0.0"); !before {
		t.Error("1.0.0 is not before 2.0.0")
	}
}
