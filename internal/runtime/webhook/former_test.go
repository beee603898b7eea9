package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// names is the key of the names of registrations in a record.
var names = schema.GroupKind{Group: "operon.dev", Kind: "RegistrationName"}

// An operator that is limited to other namespaces than before has another name, and removes what it registered under the former one:
// nobody would renew its bundles. Registrations of another instance stay: they have the same label, and another Service.
func TestWhatHasAFormerNameIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	book := &ledger{}
	w.named("-other", book, func(cfg *webhook.Config) { cfg.Service.Name = "other" }).stop() // it would register itself again
	w.policies = []webhook.Policy{{Kind: boxKind, Rules: []webhook.Rule{{Check: "true", Message: "never"}}}}
	former := w.named("", book)
	former.stop()
	w.policies = []webhook.Policy{{Kind: boxKind}}
	w.named("-new", book)
	w.eventually("what has the former name to be removed", func(ctx context.Context) error {
		for _, object := range w.registered() {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T: %w", object, errors.Join(err, errors.New("it is there")))
			}
		}
		return nil
	})
	w.registrationOf("-other")
	w.registrationOf("-new")
}

// Beside an API server, a process removes what one with another name registered and does not answer any more.
func TestWhatAProcessLeftIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	book := &ledger{}
	w.named("", book)
	living := w.registrationOf("")
	dead := w.registrationOf("")
	dead.ObjectMeta = metav1.ObjectMeta{Name: w.name + "-dead", Labels: dead.Labels, Annotations: dead.Annotations}
	dead.Webhooks[0].ClientConfig.URL = new("https://127.0.0.1:1/dead")
	w.must(w.client.Create(t.Context(), dead))
	w.must(book.Add(t.Context(), names, []schema.GroupKind{schema.ParseGroupKind(dead.Name)}))
	w.named("-new", book)
	w.eventually("what nobody answers for to be removed", func(ctx context.Context) error {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(dead), dead)
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
	if now := w.registrationOf(""); now.UID != living.UID {
		t.Error("the registration of a process that answers was removed, too")
	}
}

// named starts an operator whose registrations have a name with a suffix.
func (w *world) named(suffix string, book *ledger, change ...func(*webhook.Config)) *replica {
	w.Helper()
	cfg := w.config(w.Config)
	cfg.Name += suffix
	cfg.Record = book
	for _, edit := range change {
		edit(&cfg)
	}
	r := w.startWith(cfg, w.hooks()...)
	w.ready(r)
	return r
}

// registrationOf returns the configuration of a name with a suffix.
func (w *world) registrationOf(suffix string) *admissionv1.ValidatingWebhookConfiguration {
	w.Helper()
	found := &admissionv1.ValidatingWebhookConfiguration{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Name: w.name + suffix}, found))
	return found
}
