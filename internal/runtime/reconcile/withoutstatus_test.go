package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// ports is a composer of Services, a built-in kind: it labels and annotates them, and writes a ConfigMap for each.
type ports struct{}

func (ports) Compose(_ context.Context, s *corev1.Service, out *operon.Composition) error {
	if s.Annotations["unlabeled"] == "" {
		out.Label("example.com/type", string(s.Spec.Type))
		out.Annotate("example.com/port", fmt.Sprint(s.Spec.Ports[0].Port))
	}
	if s.Annotations["broken"] != "" {
		out.Fail("Broken", "the Service is broken")
	}
	out.Child(boxtest.ConfigMap(s.Name+"-port", map[string]string{"port": fmt.Sprint(s.Spec.Ports[0].Port)}))
	return nil
}

// service creates a Service, and returns a function that runs an operator of Services.
func (w *fixture) service(name string) (*corev1.Service, func() (*boxtest.Traffic, func())) {
	s := &corev1.Service{ObjectMeta: w.Meta(name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	s.Labels = map[string]string{"app": "web"}
	w.Must(w.Client.Create(w.Context(), s))
	return s, func() (*boxtest.Traffic, func()) {
		return w.RunWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.Manage(ports{}, operon.WithoutStatus()))
	}
}

// has waits until a Service has these labels and annotations, in addition to the ones of other clients.
func (w *fixture) has(s *corev1.Service, labels, annotations map[string]string) {
	w.Helper()
	w.Eventually("the metadata of the Service", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		seen := maps.Clone(s.Annotations)
		maps.DeleteFunc(seen, func(key, _ string) bool {
			return !strings.HasPrefix(key, "example.com/") && !strings.HasPrefix(key, "metadata.operon.dev/")
		})
		if !maps.Equal(s.Labels, labels) || !maps.Equal(seen, annotations) {
			return fmt.Errorf("labels %v, annotations %v", s.Labels, seen)
		}
		child := boxtest.ConfigMap(s.Name+"-port", nil)
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: child.Name}, child); err != nil {
			return err
		}
		if want := fmt.Sprint(s.Spec.Ports[0].Port); child.Data["port"] != want {
			return fmt.Errorf("the child has port %s, not %s", child.Data["port"], want)
		}
		return nil
	})
}

// A kind that the operator does not own is composed like its own kinds: child objects, labels and annotations follow the spec,
// drift is reverted, and objects that are no longer declared are deleted. Its status is not changed, and nothing is written
// after it has converged.
func TestComposesAKindOfOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s, run := w.service("web")
	_, stop := run()
	mark := "labels=example.com/type annotations=example.com/port"
	labels := map[string]string{"app": "web", "example.com/type": "ClusterIP"}
	w.has(s, labels, map[string]string{"example.com/port": "80", "metadata.operon.dev/box-operator": mark})
	w.Change(s, func() { s.Labels["example.com/type"] = "Other"; s.Spec.Ports[0].Port = 81 })
	w.has(s, labels, map[string]string{"example.com/port": "81", "metadata.operon.dev/box-operator": mark})
	w.Change(s, func() { s.Annotations["broken"] = "yes" })
	w.Event("Broken", "the Service is broken")
	w.Change(s, func() { delete(s.Annotations, "broken") })
	w.Event("Ready", "all resources are up to date and ready")
	stop()
	requests, _ := run()
	w.Change(s, func() { s.Annotations["unlabeled"] = "yes" })
	w.has(s, map[string]string{"app": "web"}, map[string]string{})
	if len(s.Status.Conditions) > 0 {
		t.Errorf("status %+v", s.Status)
	}
	for _, request := range requests.All(true) {
		if strings.HasSuffix(request, "/status") {
			t.Errorf("the operator sent %s", request)
		}
	}
}

// An operator that restarts with converged objects writes nothing about them, including events.
func TestKindOfOthersAfterARestart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s, run := w.service("calm")
	_, stop := run()
	labels := map[string]string{"app": "web", "example.com/type": "ClusterIP"}
	mark := "labels=example.com/type annotations=example.com/port"
	w.has(s, labels, map[string]string{"example.com/port": "80", "metadata.operon.dev/box-operator": mark})
	stop()
	requests, _ := run()
	w.Change(s, func() { s.Annotations["seen"] = "no" }) // causes a reconcile after the restart
	second, _ := w.service("second")
	w.has(second, labels, map[string]string{"example.com/port": "80", "metadata.operon.dev/box-operator": mark})
	for _, request := range requests.All(true) {
		if strings.Contains(request, "calm") {
			t.Errorf("the operator sent %s", request)
		}
	}
}

// Interfaces that need a status are rejected.
func TestKindOfOthersHasNoStatusToFill(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	err := operon.Run(t.Context(), "box-operator", w.Config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme),
		operon.Manage(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(context.Context, *boxtest.Box, *operon.Observed) error { return nil }}, operon.WithoutStatus()))
	if err == nil || !strings.Contains(err.Error(), "a method Observe, which needs a status") {
		t.Errorf("error %v", err)
	}
	err = operon.Run(t.Context(), "box-operator", w.Config, operon.Config{Namespace: w.Namespace}, operon.Manage(ports{}))
	if err == nil || !strings.Contains(err.Error(), "use the option operon.WithoutStatus") {
		t.Errorf("error %v", err)
	}
}
