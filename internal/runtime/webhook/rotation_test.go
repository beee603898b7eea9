package webhook_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/webhook"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// pressure is the number of concurrent requests while certificates are rotated.
const pressure = 4

// Certificates are renewed, and CAs replaced, without one failed request, while three replicas serve and the first one to act
// stores. Replicas end in the meantime, and others replace them. The leader ends first, and after that there is no leader.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	lingers := func(cfg *webhook.Config) { cfg.Linger = 3 * time.Second } // as operators do
	follows := func(cfg *webhook.Config) { cfg.Leads = make(chan struct{}) }
	replicas := []*replica{w.start(lingers), w.start(lingers, follows), w.start(lingers, follows)}
	for _, r := range replicas {
		w.ready(r)
	}
	w.works()
	end := w.load()
	authorities, leaves := map[string]bool{}, map[string]bool{}
	var ending sync.WaitGroup
	for n := range 6 {
		w.clock.Step(80 * 24 * time.Hour) // a leaf has ten days left then
		w.eventually("certificates that last", w.lasting)
		w.settle()
		leaf := w.serve(replicas...)
		authorities[leaf.Issuer.CommonName], leaves[leaf.Subject.CommonName] = true, true
		if n%2 == 0 {
			next := w.start(lingers, follows)
			w.ready(next)
			ending.Go(replicas[0].stop)
			replicas = append(replicas[1:], next)
		}
	}
	ending.Wait()
	asked, failed := end()
	if failed != nil {
		t.Errorf("of %d requests, one failed: %v", asked, failed)
	}
	if len(authorities) < 3 || len(leaves) < 6 || asked < 100 {
		t.Errorf("there were %d CAs, %d leaves and %d requests", len(authorities), len(leaves), asked)
	}
}

// lasting reports whether everything that is due has been done: leaf and CA have a third of
// their lives left, or the next CA exists.
func (w *world) lasting(ctx context.Context) error {
	secret := w.kept()
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return err
	}
	now := w.clock.Now()
	for name, life := range map[string]time.Duration{"tls.crt": long.Leaf, "ca.crt": long.CA} {
		block, _ := pem.Decode(secret.Data[name]) // the CA that signs is the first
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		if !now.Before(cert.NotAfter.Add(-life/3)) && (name == "tls.crt" || len(secret.Data["next-ca.key"]) == 0) {
			return fmt.Errorf("%s ends at %s, and it is %s", name, cert.NotAfter, now)
		}
	}
	return nil
}

// settle waits until a new CA has settled: by the test's clock, and by the clock of the API server, which receives
// bundles at its own speed.
func (w *world) settle() {
	w.Helper()
	secret := w.kept()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(secret), secret))
	if len(secret.Data["next-ca.key"]) == 0 {
		return
	}
	w.eventually("the new CA to be in all bundles", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if strings.HasPrefix(string(secret.Data["next-ca.since"]), "0001") {
			return errors.New("it is not")
		}
		return nil
	})
	w.heard()
	w.clock.Step(long.Settle)
	w.eventually("the new CA to sign", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if len(secret.Data["next-ca.key"]) > 0 {
			return errors.New("it waits")
		}
		return nil
	})
}

// heard waits until the API server knows the current state of all configurations: it receives those of one kind in the
// order of their changes, so the test waits for an additional one of each kind, which arrives last.
func (w *world) heard() {
	w.Helper()
	w.probes++
	label := map[string]string{fmt.Sprintf("%s-%d", w.name, w.probes): "asked"}
	side, all := admissionv1.SideEffectClassNone, []admissionv1.OperationType{admissionv1.Create}
	rules := []admissionv1.RuleWithOperations{{Operations: all, Rule: admissionv1.Rule{
		APIGroups: []string{boxKind.Group}, APIVersions: []string{boxKind.Version}, Resources: []string{"boxes"},
	}}}
	nobody := admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/nobody")}
	selected := &metav1.LabelSelector{MatchLabels: label}
	meta := metav1.ObjectMeta{GenerateName: w.name + "-"}
	for _, probe := range []client.Object{
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.MutatingWebhook{{
			Name: "probe.example.com", ClientConfig: nobody, Rules: rules, ObjectSelector: selected, SideEffects: &side, AdmissionReviewVersions: []string{"v1"},
		}}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "probe.example.com", ClientConfig: nobody, Rules: rules, ObjectSelector: selected, SideEffects: &side, AdmissionReviewVersions: []string{"v1"},
		}}},
	} {
		w.must(w.client.Create(w.Context(), probe))
		w.eventually(fmt.Sprintf("the API server to hear of a %T", probe), func(ctx context.Context) error {
			b := &box.Box{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-", Namespace: w.Namespace, Labels: label}}
			if err := w.client.Create(ctx, b, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "probe.example.com") {
				return fmt.Errorf("it has not: %w", err)
			}
			return nil
		})
		w.must(w.client.Delete(w.Context(), probe))
	}
}

// load sends requests until the returned function is called, which returns the number of requests, and the
// error of one of them.
func (w *world) load() (end func() (int64, error)) {
	ctx, cancel := context.WithCancel(w.Context())
	var asked atomic.Int64
	var failed atomic.Pointer[error]
	var running sync.WaitGroup
	for range pressure {
		running.Go(func() {
			for ctx.Err() == nil {
				err := w.working(ctx)
				if ctx.Err() != nil {
					return
				}
				asked.Add(1)
				if err != nil {
					err = fmt.Errorf("at %s: %w", time.Now().Format(time.StampMilli), err)
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	return func() (int64, error) {
		cancel()
		running.Wait()
		if err := failed.Load(); err != nil {
			return asked.Load(), *err
		}
		return asked.Load(), nil
	}
}

// After the Secret was deleted or made unusable, new certificates are created, and all replicas serve them.
func TestKeptCertificatesAreMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	replicas := []*replica{w.start(), w.start()}
	w.ready(replicas[0])
	w.ready(replicas[1])
	w.works()
	patch := func(data string) error {
		return w.client.Patch(w.Context(), w.kept(), client.RawPatch("application/merge-patch+json", []byte(`{"data":`+data+`}`)))
	}
	for name, harm := range map[string]func() error{
		"deleted":  func() error { return w.client.Delete(w.Context(), w.kept()) },
		"unusable": func() error { return patch(`{"ca.key":"bm8ga2V5"}`) },
		"emptied":  func() error { return patch(`null`) },
	} {
		before := w.serve(replicas...)
		w.must(harm())
		w.eventually("another leaf after it was "+name, func(ctx context.Context) error {
			now, err := w.leafKept(ctx)
			if err == nil && now.Equal(before) {
				return errors.New("it is the one from before")
			}
			return err
		})
		w.serve(replicas...)
		w.works()
	}
}

// A replica that starts later uses the same leaf: a restart writes nothing. Certificates that expired in the meantime, by
// the clock passed to the replicas, are created again, and everything works again automatically.
func TestRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	leaves, authorities := map[string]bool{}, map[string]bool{}
	versions := ""
	for n, away := range []time.Duration{0, 0, long.Leaf + time.Hour, long.CA + time.Hour} {
		w.clock.Step(away)
		r := w.start()
		w.ready(r)
		w.works()
		leaf := w.serve(r)
		leaves[leaf.Subject.CommonName], authorities[leaf.Issuer.CommonName] = true, true
		r.stop()
		before := versions
		if versions = w.versions(); n == 1 && versions != before {
			t.Errorf("versions were %s, and are %s", before, versions)
		}
	}
	if len(leaves) != 3 || len(authorities) != 2 {
		t.Errorf("there were %d leaves and %d CAs, want another leaf after its end, and another CA after its", len(leaves), len(authorities))
	}
}

// versions returns the versions of all objects that the operator writes.
func (w *world) versions() string {
	w.Helper()
	secret, configuration := w.kept(), w.validating()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(secret), secret))
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(configuration), configuration))
	return secret.ResourceVersion + " " + configuration.ResourceVersion
}

// Errors are reported field by field. A webhook request causes no further load on the API server: the replica sends no
// requests itself.
func TestAnAnswerCostsNoRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	requests := &traffic{}
	config := *w.Config
	config.Wrap(requests.count)
	r := w.startWith(w.config(&config), w.hooks()...)
	w.ready(r)
	w.works()
	w.eventually("silence", func(ctx context.Context) error {
		before := len(requests.all())
		for range 20 {
			if err := w.working(ctx); err != nil {
				return err
			}
		}
		if now := requests.all(); len(now) > before {
			return fmt.Errorf("meanwhile it sent %q", now[before:])
		}
		return nil
	})
	_, err := w.asks(t.Context(), "0")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		t.Fatalf("error %v", err)
	}
	if causes := status.Status().Details.Causes; len(causes) != 1 || causes[0].Field != "spec.data.size" {
		t.Errorf("causes %+v", causes)
	}
}

// Of replicas that start at the same time, one creates the certificates and the others use them.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serviceOf()
	var replicas []*replica
	for range 5 {
		replicas = append(replicas, w.start())
	}
	for _, r := range replicas {
		w.ready(r)
	}
	first := w.serve(replicas...)
	localtest.Always(t, time.Second, "one leaf", func(ctx context.Context) error {
		now, err := w.leafKept(ctx)
		if err == nil && !now.Equal(first) {
			return errors.New("there was another one")
		}
		return err
	})
	w.works()
}
