package reconcilelog_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/explain"
	"github.com/operon-framework/operon/internal/tools/up"
)

// explained returns the output of `operon explain` for a Box.
func (w *fixture) explained(ctx context.Context, name, endpoint string) (string, error) {
	answer, err := explain.Of(ctx, explain.Options{
		Kind: "box", Name: name, Namespace: w.Namespace, Where: up.Where{Kubeconfig: w.Kubeconfig}, Endpoint: endpoint,
	})
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = answer.Text(&text)
	return text.String(), err
}

// explains waits until the explanation contains all texts.
func (w *fixture) explains(name, endpoint string, texts ...string) {
	w.Helper()
	w.Eventually("the explanation of "+name, func(ctx context.Context) error {
		got, err := w.explained(ctx, name, endpoint)
		if err == nil && !boxtest.HasAll(got, texts) {
			err = fmt.Errorf("it lacks one of %q:\n%s", texts, got)
		}
		return err
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := testaid.FreeAddress(t)
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, HealthProbeBindAddress: address}, operon.API(boxtest.AddToScheme),
		operon.Manage(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
			if b.Spec.Data["broken"] != "" {
				return fmt.Errorf("out of order")
			}
			if b.Spec.Data["pod"] != "" {
				out.Child(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: b.Name, Annotations: map[string]string{"sim.operon.dev/fail": "never-ready"}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/any:1"}}},
				})
			}
			return boxtest.Copies(b, out)
		})))
	b := w.Box("good", map[string]string{"a": "1"})
	w.IsReady(b)
	w.explains("good", address, "Box "+w.Namespace+"/good is ready", "Next        when the object", "create ConfigMap good", "Created: created ConfigMap good")

	child := boxtest.ConfigMap("good", nil)
	child.Namespace = w.Namespace
	w.Change(child, func() { child.Data["a"] = "2" })
	w.explains("good", address, "repair ConfigMap good: data.a (changed by intruder)", "because ConfigMap good changed")
	w.Change(b, func() { b.Spec.Data["broken"] = "yes" })
	w.explains("good", address, "is not ready", ": ReconcileFailed", "out of order", "Next        soon", "retry after an error: compose: out of order", "because its spec changed")

	w.Box("stuck", map[string]string{"pod": "yes"})
	w.explains("stuck", address, "is not ready", ": ChildNotReady", "Trouble     Pod "+w.Namespace+"/stuck", "because")

	// Without the operator, the facts in the cluster are still reported, and also what is missing.
	w.explains("stuck", testaid.FreeAddress(t), "Trouble     Pod "+w.Namespace+"/stuck", "Unknown     triggers of reconciles: the operator at 127.0.0.1:", "does not answer")
	if _, err := w.explained(t.Context(), "stuk", address); err == nil || !strings.Contains(err.Error(), "did you mean stuck?") {
		t.Errorf("error %v", err)
	}
}
