package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// asked is a composer with admission webhooks: spec.data.size is 1 by default and never falls, and a Box with spec.data.keep
// cannot be deleted.
type asked struct{ boxtest.ComposeFunc }

func (asked) Default(_ context.Context, b *boxtest.Box) error {
	if b.Spec.Data["size"] == "" {
		b.Spec.Data = map[string]string{"size": "1", "keep": b.Spec.Data["keep"]}
	}
	return nil
}

func (asked) Validate(_ context.Context, b *boxtest.Box, about *operon.Admission[*boxtest.Box]) field.ErrorList {
	size := field.NewPath("spec", "data", "size")
	if b.Spec.Data["size"] == "none" {
		return field.ErrorList{field.Forbidden(size, "say how large")}
	}
	if about.Created && b.Spec.Data["size"] > "5" {
		about.Warn("that is large")
	}
	if !about.Created && b.Spec.Data["size"] < about.Old.Spec.Data["size"] {
		return field.ErrorList{field.Forbidden(size, "cannot fall")}
	}
	return nil
}

func (asked) ValidateDeletion(_ context.Context, b *boxtest.Box, about *operon.Admission[*boxtest.Box]) error {
	if b.Spec.Data["keep"] == "yes" {
		return fmt.Errorf("%s keeps it from %s", b.Name, about.User.Username)
	}
	return nil
}

// awaitAsked waits until the API server calls the webhooks of the operator. It receives the configurations for defaults and for
// validation separately.
func (w *fixture) awaitAsked() {
	w.Helper()
	w.Eventually("the API server to ask the operator", func(ctx context.Context) error {
		b := &boxtest.Box{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-", Namespace: w.Namespace}}
		if err := w.Client.Create(ctx, b, client.DryRunAll); err != nil {
			return err
		}
		if b.Spec.Data["size"] == "" {
			return errors.New("there is no default")
		}
		b = &boxtest.Box{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-", Namespace: w.Namespace}, Spec: boxtest.BoxSpec{Data: map[string]string{"size": "none"}}}
		if err := w.Client.Create(ctx, b, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("what is forbidden: %w", err)
		}
		return nil
	})
}

func TestRolesThatAPIServersAsk(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, w.Beside(), operon.API(boxtest.AddToScheme), operon.Manage(asked{boxtest.Copies}))
	w.awaitAsked()
	b := w.Box("one", nil)
	if b.Spec.Data["size"] != "1" {
		t.Errorf("stored is %v", b.Spec.Data)
	}
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["size"] = "3" })
	less := b.DeepCopyObject().(*boxtest.Box)
	less.Spec.Data["size"] = "2"
	if err := w.Client.Patch(t.Context(), less, client.MergeFrom(b)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.data.size: Forbidden: cannot fall") {
		t.Errorf("error %v", err)
	}
	w.Change(b, func() { b.Spec.Data["keep"] = "yes" })
	if err := w.Client.Delete(t.Context(), b); err == nil || !strings.Contains(err.Error(), "one keeps it from") {
		t.Errorf("error %v", err)
	}
	w.Change(b, func() { b.Spec.Data["keep"] = "no" })
	w.Must(w.Client.Delete(t.Context(), b))
}

// The code of finalizers reads the spec, so the spec is validated until the object is removed. A finalizer can always be
// removed.
func TestASpecIsValidatedWhileItsObjectIsDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, w.Beside(), operon.API(boxtest.AddToScheme), operon.Manage(asked{boxtest.Copies}))
	w.awaitAsked()
	b := w.Box("one", map[string]string{"size": "3"})
	w.Change(b, func() { b.Finalizers = append(b.Finalizers, "example.com/hold") })
	w.Must(w.Client.Delete(t.Context(), b))
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(b), b))
	less := b.DeepCopyObject().(*boxtest.Box)
	less.Spec.Data["size"] = "2"
	if err := w.Client.Patch(t.Context(), less, client.MergeFrom(b)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "cannot fall") {
		t.Errorf("error %v", err)
	}
	released := b.DeepCopyObject().(*boxtest.Box)
	released.Finalizers = nil
	w.Must(w.Client.Patch(t.Context(), released, client.MergeFrom(b)))
}

func TestWarningsReachTheUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, w.Beside(), operon.API(boxtest.AddToScheme), operon.Manage(asked{boxtest.Copies}))
	w.awaitAsked()
	heard := &warnings{}
	config := rest.CopyConfig(w.Config)
	config.WarningHandler = heard
	c, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
	w.Must(err)
	b := &boxtest.Box{ObjectMeta: w.Meta("large"), Spec: boxtest.BoxSpec{Data: map[string]string{"size": "9"}}}
	w.Must(c.Create(t.Context(), b, client.DryRunAll))
	if !slices.Contains(heard.texts, "that is large") {
		t.Errorf("heard %q", heard.texts)
	}
}

type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// An object that was stored while no webhook responded is composed with its defaults.
func TestDefaultsAreThereWithoutWebhooks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme), operon.Manage(asked{boxtest.Copies}))
	b := w.Box("plain", nil)
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("plain", nil), map[string]string{"size": "1", "keep": ""})
	if len(b.Spec.Data) > 0 {
		t.Errorf("stored is %v", b.Spec.Data)
	}
}

// An operator without webhook methods registers no webhooks, and does not read what earlier versions may have registered.
func TestAnOperatorWithoutRolesIsNotAsked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cfg := w.Beside()
	cfg.LeaderElectionNamespace = w.Namespace // of the record
	requests, _ := w.RunWith(w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
	w.IsReady(w.Box("plain", nil))
	for _, request := range requests.All(false) {
		if strings.Contains(request, "admissionregistration") || strings.Contains(request, "/secrets") {
			t.Errorf("sent %s", request)
		}
	}
}

// Rules are evaluated by API servers without a webhook.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	rule := operon.Rule{Check: "!has(object.spec.data) || !('size' in object.spec.data) || int(object.spec.data['size']) <= 3", Message: "a Box holds at most 3"}
	cfg := w.Beside()
	cfg.LeaderElectionNamespace = w.Namespace
	_, stop := w.RunWith(w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies), operon.Rules(rule)))
	large := func() error {
		b := &boxtest.Box{ObjectMeta: w.Meta("large"), Spec: boxtest.BoxSpec{Data: map[string]string{"size": "4"}}}
		return w.Client.Create(t.Context(), b, client.DryRunAll)
	}
	w.Eventually("the rule to hold", func(context.Context) error {
		if err := large(); err == nil || !strings.Contains(err.Error(), "a Box holds at most 3") {
			return fmt.Errorf("error %w", err)
		}
		return nil
	})
	w.IsReady(w.Box("small", map[string]string{"size": "3"}))
	w.RemoveBoxes()
	stop()
	w.Eventually("the rule to go with the process beside the API server", func(context.Context) error { return large() })
}

// The readiness check reports an expression that API servers cannot parse.
func TestARuleThatIsNoExpression(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	told, how := boxtest.Logged(slog.LevelInfo)
	cfg := w.Beside()
	cfg.Log = how.Log
	w.RunWith(w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies), operon.Rules(operon.Rule{Check: "object.spec.", Message: "x"})))
	w.Eventually("the mistake to be told", func(context.Context) error {
		if text := told.All(); !strings.Contains(text, "Syntax error") {
			return fmt.Errorf("told is %s", text)
		}
		return nil
	})
}

// The options of a kind apply to its webhooks.
func TestWebhookOptions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, w.Beside(), operon.Version("1.2.3"), operon.API(boxtest.AddToScheme), operon.Manage(asked{boxtest.Copies},
		operon.WebhookTimeout(3e9), operon.WebhookFailOpen(), operon.WebhookMatch("named", "object.metadata.name != 'free'")))
	w.Eventually("the configuration", func(ctx context.Context) error {
		found := &admissionv1.MutatingWebhookConfiguration{}
		if err := w.Client.Get(ctx, client.ObjectKey{Name: operon.Name(63, "box-operator", w.Namespace)}, found); err != nil {
			return err
		}
		entry := found.Webhooks[0]
		if *entry.TimeoutSeconds != 3 || *entry.FailurePolicy != admissionv1.Ignore || len(entry.MatchConditions) != 2 {
			return fmt.Errorf("it is %+v", entry)
		}
		if version := found.Annotations["operon.dev/webhooks-version"]; version != "1.2.3" {
			return fmt.Errorf("the version is %q", version)
		}
		return nil
	})
}
