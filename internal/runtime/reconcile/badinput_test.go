package reconcile_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// badInputs are compositions that cannot be applied, and the messages that users receive.
var badInputs = []struct {
	name, reason, text string
	compose            boxtest.ComposeFunc
}{
	{"two children of one name", "DuplicateChild", "two children are declared as ConfigMap bad", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, nil))
		out.Child(boxtest.ConfigMap(b.Name, nil))
		return nil
	}},
	{"no name", "InvalidChild", "a child of kind ConfigMap has no name", func(_ *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap("", nil))
		return nil
	}},
	{"no kind", "InvalidChild", `child "bad" has no kind`, func(b *boxtest.Box, out *operon.Composition) error {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(b.Name)
		out.Child(object)
		return nil
	}},
	{"no such namespace", "NamespaceMissing", `namespaces "no-such-namespace" not found`, func(b *boxtest.Box, out *operon.Composition) error {
		child := boxtest.ConfigMap(b.Name, nil)
		child.Namespace = "no-such-namespace"
		out.Child(child)
		return nil
	}},
	{"refused by the API server", "ChildRefused", "spec.ports", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
		return nil
	}},
	{"a name too long", "ChildRefused", "metadata.name", func(_ *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(strings.Repeat("x", 254), nil))
		return nil
	}},
	{"a panic", "Panicked", "no such thing", func(*boxtest.Box, *operon.Composition) error { panic("no such thing") }},
	{"an error of its own", "ReconcileFailed", "no licence", func(*boxtest.Box, *operon.Composition) error { return errors.New("no licence") }},
	{"a value of the wrong type", "ChildRefused", ".spec.small: expected", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(crate(b.Name, map[string]any{"small": map[string]any{"a": "b"}}))
		return nil
	}},
	{"a field that is not there", "ChildRefused", ".spec.other: field not declared in schema", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(crate(b.Name, map[string]any{"other": "x"}))
		return nil
	}},
	{"a cycle", "DependencyCycle", "ConfigMap a comes after ConfigMap b comes after ConfigMap a", func(_ *boxtest.Box, out *operon.Composition) error {
		one, two := boxtest.ConfigMap("a", nil), boxtest.ConfigMap("b", nil)
		out.Child(one, operon.After(two))
		out.Child(two, operon.After(one))
		return nil
	}},
	{"after what is not composed", "DependencyMissing", "ConfigMap a is declared After(ConfigMap b), but ConfigMap b is not declared", func(_ *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap("a", nil), operon.After(boxtest.ConfigMap("b", nil)))
		return nil
	}},
	{"no such kind", "KindMissing", "the cluster has no kind Nothing", func(b *boxtest.Box, out *operon.Composition) error {
		object := crate(b.Name, nil)
		object.SetKind("Nothing")
		out.Child(object)
		return boxtest.Copies(&boxtest.Box{ObjectMeta: metav1.ObjectMeta{Name: "beside"}}, out)
	}},
	{"too large for its kind", "ChildRefused", "1048576", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, map[string]string{"a": strings.Repeat("x", 1<<20+1)}))
		return nil
	}},
	{"too large for a request", "ChildTooLarge", "too large", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, map[string]string{"a": strings.Repeat(rand.Text(), 1<<20)}))
		return nil
	}},
	{"a readiness that panics", "Panicked", "no such field", func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, nil), operon.ReadyWhen(func(*unstructured.Unstructured) (bool, string) { panic("no such field") }))
		return nil
	}},
}

// sensible is the maximum number of attempts to apply a composition within the time enough. With a pause that starts at 20 ms
// and doubles after each attempt, a dozen attempts take 40 s, and each further one takes longer than that.
const (
	sensible = 12
	enough   = 40 * time.Second
)

// TestBadInputIsTold checks that one operator reports an invalid composition while it manages a valid object.
func TestBadInputIsTold(t *testing.T) {
	t.Parallel()
	for _, test := range badInputs {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
			var tries atomic.Int64
			began := time.Now()
			w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
				if b.Name == "good" {
					return boxtest.Copies(b, out)
				}
				tries.Add(1)
				return test.compose(b, out)
			}))
			w.Ready(w.Box("bad", nil), metav1.ConditionFalse, test.reason, test.text)
			w.Event(test.reason, test.text)
			w.IsReady(w.Box("good", nil))
			if test.reason == "KindMissing" {
				w.Lives("beside") // its siblings continue
			}
			w.Still("tries at a sensible pace", func(context.Context) error {
				got := tries.Load()
				if most := sensible + int64(time.Since(began)/enough); got > most {
					return fmt.Errorf("tried %d times, want at most %d", got, most)
				}
				return nil
			})
		})
	}
}

// A failure of an observer is reported, and does not prevent child objects from being applied.
func TestObserverThatFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(_ context.Context, b *boxtest.Box, _ *operon.Observed) error {
		switch b.Name {
		case "panics":
			panic("no such thing")
		case "fails":
			return errors.New("nothing seen")
		}
		return nil
	}})
	for name, reason := range map[string]string{"panics": "Panicked", "fails": "ReconcileFailed"} {
		w.Ready(w.Box(name, nil), metav1.ConditionFalse, reason, "")
		w.Event(reason, "")
		w.Lives(name)
	}
	w.IsReady(w.Box("good", nil))
}
