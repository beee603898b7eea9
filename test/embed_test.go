package operon_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// plainManager returns a manager like the main function of a kubebuilder project.
func (w *fixture) plainManager() ctrl.Manager {
	w.Helper()
	scheme := runtime.NewScheme()
	w.Must(clientgoscheme.AddToScheme(scheme))
	w.Must(boxtest.AddToScheme(scheme))
	manager, err := ctrl.NewManager(w.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}},
	})
	w.Must(err)
	return manager
}

// A composer in another program's manager works as in its own operator: child objects, drift and status. A second reconcile
// writes nothing.
func TestAComposerInAPlainManager(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	manager := w.plainManager()
	w.Must(operon.AddToManager(manager, "plain-operator", boxtest.ComposeFunc(boxtest.Copies)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		w.RemoveBoxes()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	b := w.Box("embedded", map[string]string{"a": "1"})
	w.IsReady(b)
	child := boxtest.ConfigMap(b.Name, nil)
	child.Namespace = w.Namespace
	w.Change(child, func() { child.Data["a"] = "changed" })
	w.Event("Repaired", "ConfigMap embedded")
	w.Change(b, func() { b.Spec.Data = map[string]string{"a": "2"} })
	w.IsReady(b)
	localtest.Receive(t, "the start of the manager", manager.Elected())
	if err := operon.AddToManager(manager, "plain-operator", boxtest.ComposeFunc(boxtest.Copies)); err == nil || !strings.Contains(err.Error(), "the manager has started already") {
		t.Errorf("after the start: %v", err)
	}
}

func TestMistakesOfEmbedding(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	manager := w.plainManager()
	w.Must(operon.AddToManager(manager, "plain-operator", boxtest.ComposeFunc(boxtest.Copies)))
	refuses := func(option operon.ManageOption) error {
		return operon.AddToManager(w.plainManager(), "x", boxtest.ComposeFunc(boxtest.Copies), option)
	}
	for want, err := range map[string]error{
		"add *box.Box to the manager: the operator manages it twice":                     operon.AddToManager(manager, "plain-operator", boxtest.ComposeFunc(boxtest.Copies)),
		`the manager has composers of the operator "plain-operator" already, not of "x"`: operon.AddToManager(manager, "x", boxtest.ComposeFunc(boxtest.Copies)),
		"has a method Validate, which is never called here: register a webhook":          operon.AddToManager(w.plainManager(), "x", validating{boxtest.Copies}),
		"has a method Observ, which Operon would never call":                             operon.AddToManager(w.plainManager(), "x", misspelled{boxtest.Copies}),
		"option Rules, which has no effect here: apply a ValidatingAdmissionPolicy":      refuses(operon.Rules(operon.Rule{Check: "true", Message: "never"})),
		"option WebhookTimeout, which has no effect here: set timeoutSeconds":            refuses(operon.WebhookTimeout(time.Second)),
		"option WebhookFailOpen, which has no effect here: set failurePolicy":            refuses(operon.WebhookFailOpen()),
		"option WebhookMatch, which has no effect here: set matchConditions":             refuses(operon.WebhookMatch("mine", "true")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// validating is a composer with a method that needs a webhook.
type validating struct{ boxtest.ComposeFunc }

func (validating) Validate(context.Context, *boxtest.Box, *operon.Admission[*boxtest.Box]) field.ErrorList {
	return nil
}
