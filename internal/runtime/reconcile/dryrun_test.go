package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// shown are the previews of a dry run.
type shown struct {
	mu   sync.Mutex
	made []operon.Preview
}

func (s *shown) show(p operon.Preview) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, p)
}

// of returns the previews of an object, in order.
func (s *shown) of(name string) []operon.Preview {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.made), func(p operon.Preview) bool { return p.Name != name })
}

// says waits until the last preview of an object has lines that start with the given ones.
func (w *fixture) says(s *shown, name string, lines ...string) {
	w.Helper()
	w.Eventually("the preview of "+name, func(context.Context) error {
		all := s.of(name)
		if len(all) == 0 {
			return errors.New("there is none")
		}
		got := strings.Split(all[len(all)-1].String(), "\n")
		same := slices.EqualFunc(got, lines, func(got, want string) bool {
			return strings.HasPrefix(got, fmt.Sprintf("Box %s/%s: %s", w.Namespace, name, want))
		})
		if !same {
			return fmt.Errorf("the last of %d is %q, want %q", len(all), got, lines)
		}
		return nil
	})
}

// various composes child objects that depend on the name of the Box.
func various(b *boxtest.Box, out *operon.Composition) error {
	switch b.Name {
	case "refused":
		out.Child(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
	case "panics":
		panic("no such thing")
	case "ordered":
		first := boxtest.ConfigMap("first", nil)
		out.Child(boxtest.ConfigMap("second", nil), operon.After(first))
		out.Child(first)
	default:
		if b.Spec.Data["secret"] != "" {
			out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
		}
		return boxtest.Copies(b, out)
	}
	return nil
}

// A dry run shows what would be done, including the effects of the API server, and writes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Run(boxtest.ComposeFunc(various))
	same, drifted, changed := w.Box("same", nil), w.Box("drifted", map[string]string{"a": "1"}), w.Box("changed", map[string]string{"secret": "yes"})
	for _, b := range []*boxtest.Box{same, drifted, changed} {
		w.IsReady(b)
	}
	stop()
	child := w.EmptyConfigMap(drifted.Name)
	w.Change(child, func() { child.Data["a"] = "2" })
	w.Change(changed, func() { changed.Spec.Data = map[string]string{"b": "2"} })
	taken := w.EmptyConfigMap("taken")
	w.Must(w.Client.Create(t.Context(), taken))
	for _, name := range []string{"taken", "fresh", "refused", "panics", "ordered"} {
		w.Box(name, nil)
	}

	var s shown
	quiet, writes := boxtest.Written(w.Config)
	w.RunWith(quiet, operon.Config{Namespace: w.Namespace, DryRun: s.show, LeaderElection: true, LeaderElectionNamespace: w.Namespace},
		operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(various)))
	w.says(&s, "same", "nothing to do")
	w.says(&s, "drifted", "repair ConfigMap drifted: data.a (changed by intruder)")
	w.says(&s, "changed", "update ConfigMap changed", "delete Secret changed: is no longer declared")
	w.says(&s, "fresh", "create ConfigMap fresh")
	w.says(&s, "taken", "conflict ConfigMap taken: exists already", "Conflict: ")
	w.says(&s, "refused", "create Service refused", "ChildRefused: apply Service refused: Service \"refused\" is invalid: spec.ports")
	w.says(&s, "panics", "Panicked: the operator's code panicked: no such thing")
	w.says(&s, "ordered", "create ConfigMap first", "hold ConfigMap second: waits until ConfigMap first is ready")

	w.Poke(same)
	w.Change(drifted, func() { drifted.Spec.Data["b"] = "3" })
	w.says(&s, "drifted", "update ConfigMap drifted")
	if got := len(s.of("same")); got != 1 {
		t.Errorf("a plan that stayed the same was shown %d times", got)
	}
	if got := writes(); len(got) > 0 {
		t.Errorf("a dry run wrote %q", got)
	}
	if drifted := s.of("drifted")[0]; len(drifted.Actions) != 1 || !slices.Equal(drifted.Actions[0].Fields, []string{"data.a"}) {
		t.Errorf("the preview as data is %+v", drifted)
	}
	if _, err := json.Marshal(s.of("panics")[0]); err != nil {
		t.Error(err)
	}
}

// In a dry run, other code in the operator cannot write either.
func TestDryRunHoldsForSetup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tried := make(chan error, 1)
	quiet, writes := boxtest.Written(w.Config)
	w.RunWith(quiet, operon.Config{Namespace: w.Namespace, DryRun: func(operon.Preview) {}}, operon.Setup(func(m ctrl.Manager) error {
		return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
			tried <- m.GetClient().Create(ctx, w.EmptyConfigMap("sneaked"))
			return nil
		}))
	}))
	if err := localtest.Receive(t, "a write of what else is in the operator", tried); err == nil || !strings.Contains(err.Error(), "dry run") {
		t.Errorf("error %v", err)
	}
	if got := writes(); len(got) > 0 {
		t.Errorf("a dry run wrote %q", got)
	}
}
