package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/webhook"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// Any change to a configuration by another client is reverted; additions stay.
func TestConfigurationsArePutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	w.ready(w.start())
	w.works()
	for _, harm := range []struct {
		name   string
		change func(*admissionv1.ValidatingWebhookConfiguration)
	}{
		{"bundle", func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks[0].ClientConfig.CABundle = nil }},
		{"rules", func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks[0].Rules = nil }},
		{"failure policy", func(c *admissionv1.ValidatingWebhookConfiguration) { *c.Webhooks[0].FailurePolicy = admissionv1.Ignore }},
		{"entries", func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks = nil }},
		{"labels", func(c *admissionv1.ValidatingWebhookConfiguration) { c.Labels, c.Annotations = nil, nil }},
	} {
		before := w.configured()
		changed := before.DeepCopy()
		harm.change(changed)
		w.must(w.client.Update(t.Context(), changed, client.FieldOwner("intruder")))
		w.eventually(harm.name+" to be put back", func(context.Context) error {
			now := w.configured()
			same := equality.Semantic.DeepEqual(now.Webhooks, before.Webhooks) && maps.Equal(now.Labels, before.Labels) && maps.Equal(now.Annotations, before.Annotations)
			if !same {
				return fmt.Errorf("it is %+v", now)
			}
			return nil
		})
	}
	w.must(w.client.Delete(t.Context(), w.validating()))
	w.eventually("the configuration to come back", func(ctx context.Context) error {
		return w.client.Get(ctx, client.ObjectKeyFromObject(w.validating()), w.validating())
	})
	theirs := w.configured()
	entry := *theirs.Webhooks[0].DeepCopy()
	entry.Name, entry.Rules, entry.FailurePolicy = "theirs.example.com", nil, new(admissionv1.Ignore)
	theirs.Webhooks = append(theirs.Webhooks, entry)
	w.must(w.client.Update(t.Context(), theirs, client.FieldOwner("intruder")))
	version := w.configured().ResourceVersion
	localtest.Always(t, time.Second, "what somebody adds to stay", func(context.Context) error {
		if now := w.configured(); now.ResourceVersion != version || len(now.Webhooks) != 2 {
			return fmt.Errorf("it is %+v", now)
		}
		return nil
	})
}

// An object that is deleted before the loop watches it is restored, too.
func TestWhatGoesBeforeItIsWatchedComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	gone := make(chan struct{})
	config := *w.Config
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/validatingwebhookconfigurations") && r.URL.Query().Has("fieldSelector") {
				select {
				case <-gone:
				case <-r.Context().Done():
				}
			}
			return next.RoundTrip(r)
		})
	})
	w.ready(w.startWith(w.config(&config), w.hooks()...))
	w.must(w.client.Delete(t.Context(), w.validating()))
	close(gone)
	w.eventually("the configuration to come back", func(ctx context.Context) error {
		return w.client.Get(ctx, client.ObjectKeyFromObject(w.validating()), w.validating())
	})
}

func (w *world) configured() *admissionv1.ValidatingWebhookConfiguration {
	w.Helper()
	found := w.validating()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(found), found))
	return found
}

// A configuration of the same name that another client created is not taken over.
func TestForeignConfigurationsAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	theirs := w.validating()
	w.must(w.client.Create(t.Context(), theirs))
	t.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(t.Context()), theirs) })
	r := w.start()
	w.eventually("it to be told", func(context.Context) error {
		if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "was not created by this operator") {
			return fmt.Errorf("the check says %w", err)
		}
		return nil
	})
	if now := w.configured(); len(now.Webhooks) > 0 || len(now.Labels) > 0 {
		t.Errorf("it is %+v", now)
	}
	w.must(w.client.Delete(t.Context(), theirs))
	w.ready(r)
}

// The operator needs permissions for objects with its own names, and for no others.
func TestPermissionsOfItsOwnNamesAreEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	limited := rest.CopyConfig(w.Config)
	limited.Impersonate.UserName = "limited-" + w.Namespace
	cfg := w.config(limited)
	cfg.Address = testaid.FreeAddress(t)
	book := &ledger{}
	w.must(book.Add(t.Context(), names, []schema.GroupKind{{Kind: "former"}})) // it may not remove what has that name
	w.must(book.Add(t.Context(), webhook.Itself, []schema.GroupKind{{Group: admissionv1.GroupName, Kind: "ValidatingWebhookConfiguration"}}))
	cfg.Record = book
	r := w.startWith(cfg, w.hooks()...)
	w.eventually("what is missing to be told", func(context.Context) error {
		if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "cannot get resource") {
			return fmt.Errorf("the check says %w", err)
		}
		return nil
	})
	w.grant(limited.Impersonate.UserName)
	w.ready(r)
	w.works()
}

func (w *world) grant(user string) {
	w.Helper()
	verbs := []string{"get", "list", "watch", "create", "patch"}
	for _, object := range []client.Object{
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "limited"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs, ResourceNames: []string{service + "-certificates"}}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "limited"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "limited"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: w.name},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: verbs, ResourceNames: []string{w.name},
				Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
			}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		w.must(w.client.Create(w.Context(), object))
		w.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.Context()), object) })
	}
}

// ledger is a record in memory.
type ledger struct {
	mu    sync.Mutex
	asked int
	kinds map[schema.GroupKind][]schema.GroupKind
}

func (l *ledger) Kinds(_ context.Context, of schema.GroupKind) ([]schema.GroupKind, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return slices.Clone(l.kinds[of]), nil
}

func (l *ledger) Add(_ context.Context, of schema.GroupKind, kinds []schema.GroupKind) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = map[schema.GroupKind][]schema.GroupKind{}
	}
	l.kinds[of] = append(l.kinds[of], kinds...)
	return nil
}

func (l *ledger) times() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// Registrations of an earlier version for which this version has no role are removed. If nothing was ever
// registered, no request is sent.
func TestWhatIsNotServedAnyMoreIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	book := &ledger{}
	rules := webhook.Policy{Kind: boxKind, Rules: []webhook.Rule{{Check: "true", Message: "never"}}}
	cfg := w.config(w.Config)
	cfg.Record = book
	first := w.startJudging(cfg, rules, w.hooks()...)
	w.ready(first)
	w.works()
	first.stop()

	requests := &traffic{}
	counted := *w.Config
	counted.Wrap(requests.count)
	cfg = w.config(&counted)
	cfg.Record = book
	w.startJudging(cfg, webhook.Policy{Kind: boxKind})
	w.eventually("nothing to be registered", func(ctx context.Context) error {
		for _, object := range w.registered() {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T: %w", object, errors.Join(err, errors.New("it is there")))
			}
		}
		return nil
	})

	never, counting := &ledger{}, &traffic{}
	silent := *w.Config
	silent.Wrap(counting.count)
	cfg = w.config(&silent)
	cfg.Record = never
	w.startJudging(cfg, webhook.Policy{Kind: boxKind})
	w.eventually("the record to be asked", func(context.Context) error {
		if never.times() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	localtest.Always(t, time.Second, "no request", func(context.Context) error {
		if sent := counting.all(); len(sent) > 0 {
			return fmt.Errorf("sent %q", sent)
		}
		return nil
	})
}

func (w *world) startJudging(cfg webhook.Config, policy webhook.Policy, hooks ...webhook.Hook) *replica {
	w.Helper()
	w.policies = []webhook.Policy{policy}
	return w.startWith(cfg, hooks...)
}

// registered returns all objects that the operator may have registered.
func (w *world) registered() []client.Object {
	name := metav1.ObjectMeta{Name: w.name}
	policy := metav1.ObjectMeta{Name: w.name + ".box.test.operon.dev"}
	return []client.Object{
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: name}, &admissionv1.MutatingWebhookConfiguration{ObjectMeta: name},
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: policy}, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy},
	}
}

// With an API server on the same machine and without a Service, one of several processes receives the requests, and another
// one replaces it. The last process removes the registrations.
func TestOneProcessBesideTheAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	real := func(cfg *webhook.Config) { cfg.Clock = nil }
	first := w.start(real)
	w.ready(first)
	w.works()
	before := w.configured()
	if asked := *before.Webhooks[0].ClientConfig.URL; !strings.Contains(asked, first.address) {
		t.Errorf("asked is %s, want %s", asked, first.address)
	}
	second := w.start(real)
	w.ready(second)
	if now := w.configured(); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("another process changed it: %+v", now)
	}
	first.stop()
	w.works()
	w.eventually("the other one to register itself", func(ctx context.Context) error { // one configuration after the other
		now := w.validating()
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(now), now); err != nil {
			return err
		}
		if asked := *now.Webhooks[0].ClientConfig.URL; !strings.Contains(asked, second.address) {
			return fmt.Errorf("asked is %s, want %s", asked, second.address)
		}
		return nil
	})
	second.stop()
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(w.validating()), w.validating()); !apierrors.IsNotFound(err) {
		t.Errorf("the configuration is left behind: %v", err)
	}
}

// Certificates from another source are served, and reloaded when they change.
func TestCertificatesInAFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	// The other source is another operator's CA, for the same Service.
	maker := w.start()
	w.ready(maker)
	w.serve(maker)
	folder := t.TempDir()
	w.copyTo(folder)
	maker.stop()
	w.must(w.client.Delete(t.Context(), w.kept()))
	r := w.start(func(cfg *webhook.Config) { cfg.CertDir = folder })
	w.ready(r)
	w.works()
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(w.kept()), w.kept()); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Secret: %v", err)
	}
	before, err := served(t.Context(), r.address)
	w.must(err)
	other := w.start() // makes new ones
	w.ready(other)
	w.serve(other)
	w.copyTo(folder)
	other.stop()
	w.eventually("the new leaf to be served", func(ctx context.Context) error {
		w.clock.Step(time.Minute) // repeatedly: it may just have read the time, and set its timer by that
		now, err := served(ctx, r.address)
		if err == nil && now.Equal(before) {
			return errors.New("it is the old one")
		}
		return err
	})
	w.works()
}

// copyTo writes the stored certificates into a directory.
func (w *world) copyTo(folder string) {
	w.Helper()
	secret := w.kept()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(secret), secret))
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		w.must(os.WriteFile(filepath.Join(folder, name), secret.Data[name], 0o600))
	}
}

// A configuration that cannot work is rejected at the start.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]webhook.Config{
		`"nonsense" is not HOST:PORT`:      {Address: "nonsense"},
		"Set POD_NAMESPACE":                {Address: ":9443", Service: client.ObjectKey{Name: "a"}},
		"name the Service":                 {Address: ":9443"},
		"no port from 0 to 65535":          {Address: "127.0.0.1:99999"},
		"is not a valid name of a Service": {Address: ":9443", Service: client.ObjectKey{Namespace: "a", Name: "a.b"}},
		"cannot have the port 70000":       {Address: ":9443", Service: client.ObjectKey{Namespace: "a", Name: "a"}, ServicePort: 70000},
		"CA is 8ns: want at least three":   {Address: "127.0.0.1:0", Times: rotation.Times{CA: 8, Leaf: 4}},
		"CA is 8760h0m0s: want":            {Address: "127.0.0.1:0", Times: rotation.Times{Leaf: 200 * 24 * time.Hour}},
	} {
		if _, err := webhook.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// While no replica answers, an object that is being deleted can be removed, and status can be written as usual; nothing else
// is admitted unchecked.
func TestObjectsCanGoWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	r := w.start()
	w.ready(r)
	w.works()
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "held", Finalizers: []string{"test.operon.dev/held"}}}
	w.must(w.client.Create(t.Context(), b))
	r.stop()
	if _, err := w.asks(t.Context(), "1"); err == nil {
		t.Error("an object was stored unseen")
	}
	w.must(w.client.Status().Patch(t.Context(), b, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":1}}`))))
	w.must(w.client.Delete(t.Context(), b))
	w.must(w.client.Patch(t.Context(), b, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// slow answers when the test allows it.
type slow struct{ asked, answer chan struct{} }

func (s slow) Validate(context.Context, *box.Box, *webhook.Admission[*box.Box]) field.ErrorList {
	close(s.asked)
	<-s.answer
	return nil
}

// A request that is in flight when the operator has to stop is answered.
func TestRequestsUnderWayAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	late := slow{make(chan struct{}), make(chan struct{})}
	r := w.startWith(w.config(w.Config), webhook.Validating[*box.Box](w.scheme, boxKind, late.Validate, patient))
	w.ready(r)
	w.eventually("the configuration", func(ctx context.Context) error {
		return w.client.Get(ctx, client.ObjectKeyFromObject(w.validating()), w.validating())
	})
	result := make(chan error, 1)
	go func() {
		for {
			_, err := w.asks(t.Context(), "1")
			select {
			case <-late.asked:
				result <- err
				return
			default: // the API server does not know of the webhook yet
			}
		}
	}()
	localtest.Receive(t, "the API server to ask", late.asked)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.stop()
	}()
	w.eventually("the port to be closed", func(ctx context.Context) error {
		if _, err := served(ctx, r.address); err == nil {
			return errors.New("it is open")
		}
		return nil
	})
	close(late.answer)
	if err := localtest.Receive(t, "the answer", result); err != nil {
		t.Errorf("error %v", err)
	}
	localtest.Receive(t, "the server to stop", stopped)
}
