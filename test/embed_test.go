package operon_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// plainManager returns a manager like the main function of a kubebuilder project.
func (w *world) plainManager() ctrl.Manager {
	w.Helper()
	scheme := runtime.NewScheme()
	w.must(clientgoscheme.AddToScheme(scheme))
	w.must(addBox(scheme))
	manager, err := ctrl.NewManager(w.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}},
	})
	w.must(err)
	return manager
}

// A composer in another program's manager works as in its own operator: child objects, drift and status. A second reconcile
// writes nothing.
func TestAComposerInAPlainManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manager := w.plainManager()
	w.must(operon.AddToManager(manager, "plain-operator", compose(copies)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		w.removeBoxes()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	b := w.box("embedded", map[string]string{"a": "1"})
	w.isReady(b)
	child := config(b.Name, nil)
	child.Namespace = w.Namespace
	w.change(child, func() { child.Data["a"] = "changed" })
	w.event("Repaired", "ConfigMap embedded")
	w.change(b, func() { b.Spec.Data = map[string]string{"a": "2"} })
	w.isReady(b)
	localtest.Receive(t, "the start of the manager", manager.Elected())
	if err := operon.AddToManager(manager, "plain-operator", compose(copies)); err == nil || !strings.Contains(err.Error(), "the manager has started already") {
		t.Errorf("after the start: %v", err)
	}
}

func TestMistakesOfEmbedding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manager := w.plainManager()
	w.must(operon.AddToManager(manager, "plain-operator", compose(copies)))
	for want, err := range map[string]error{
		"add *box.Box to the manager: the operator manages it twice":                     operon.AddToManager(manager, "plain-operator", compose(copies)),
		`the manager has composers of the operator "plain-operator" already, not of "x"`: operon.AddToManager(manager, "x", compose(copies)),
		"has a method Validate, which is never called here: register a webhook":          operon.AddToManager(w.plainManager(), "x", asked{copies}),
		"has a method Observ, which Operon would never call":                             operon.AddToManager(w.plainManager(), "x", misspelled{copies}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
