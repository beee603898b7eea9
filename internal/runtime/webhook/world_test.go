package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/webhook"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// world is a namespace of a real cluster, with a Service for the replicas of an operator.
type world struct {
	*testing.T
	*localtest.Env
	scheme   *runtime.Scheme
	client   client.Client
	name     string // of the operator: configurations have no namespace
	balancer *balancer
	clock    *testclock.FakeClock
	policies []webhook.Policy // of replicas to start
	probes   int              // number of probes of what the API server has received
}

const service = "asked"

var boxKind = schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Box"}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	w := &world{T: t, Env: env, scheme: runtime.NewScheme(), name: "op-" + env.Namespace, clock: testclock.NewFakeClock(time.Now())}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, box.AddToScheme} {
		w.must(add(w.scheme))
	}
	var err error
	w.client, err = client.New(env.Config, client.Options{Scheme: w.scheme})
	w.must(err)
	w.Cleanup(w.clean)
	return w
}

// clean removes the objects that have no namespace.
func (w *world) clean() {
	for _, object := range []client.Object{
		&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{},
		&admissionv1.ValidatingAdmissionPolicyBinding{}, &admissionv1.ValidatingAdmissionPolicy{},
	} {
		err := w.client.DeleteAllOf(context.WithoutCancel(w.Context()), object, client.MatchingLabels{"app.kubernetes.io/managed-by": w.name})
		if err != nil {
			w.Error(err)
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) eventually(what string, check func(context.Context) error) {
	w.Helper()
	localtest.Eventually(w.T, what, check)
}

// serviceOf creates a Service that points to the balancer.
func (w *world) serviceOf() {
	w.Helper()
	w.balancer = newBalancer(w.T)
	w.must(w.client.Create(w.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}))
}

// long are lifetimes that a test's clock passes; by real clocks, all certificates are valid all the time.
var long = rotation.Times{CA: 300 * 24 * time.Hour, Leaf: 90 * 24 * time.Hour, Settle: 5 * time.Minute, Skew: 20 * 365 * 24 * time.Hour}

// replica is a running server.
type replica struct {
	*webhook.Server
	address string
	stop    func()
}

// start starts a replica with hooks, behind the Service if there is one.
func (w *world) start(change ...func(*webhook.Config)) *replica {
	w.Helper()
	cfg := w.config(w.Config)
	for _, edit := range change {
		edit(&cfg)
	}
	return w.startWith(cfg, w.hooks()...)
}

func (w *world) config(config *rest.Config) webhook.Config {
	w.Helper()
	transport, err := rest.HTTPClientFor(config)
	w.must(err)
	mapper, err := apiutil.NewDynamicRESTMapper(config, transport)
	w.must(err)
	wired, err := resourceclient.New(resourceclient.Config{REST: config, HTTP: transport, Mapper: mapper, Scheme: w.scheme})
	w.must(err)
	direct, err := client.New(config, client.Options{Scheme: w.scheme, HTTPClient: transport, Mapper: mapper})
	w.must(err)
	cfg := webhook.Config{
		Operator: w.name, Name: w.name, Namespaces: []string{w.Namespace}, Address: testaid.FreeAddress(w.T),
		Times: long, Clock: w.clock, API: webhook.API{Wire: wired, Client: direct, Mapper: mapper}, Log: told(w.T),
	}
	if w.balancer != nil {
		cfg.Service, cfg.ServicePort = types.NamespacedName{Namespace: w.Namespace, Name: service}, w.balancer.port
	}
	return cfg
}

// told prints the log lines of a replica if the test fails.
func told(t *testing.T) logr.Logger {
	return funcr.New(func(_, args string) { t.Log(args) }, funcr.Options{LogTimestamp: true})
}

func (w *world) startWith(cfg webhook.Config, hooks ...webhook.Hook) *replica {
	w.Helper()
	server, err := webhook.New(cfg)
	w.must(err)
	server.Add(hooks...)
	for _, policy := range w.policies {
		server.Judge(policy)
	}
	stop, err := server.Start(context.WithoutCancel(w.Context()))
	w.must(err)
	r := &replica{Server: server, address: cfg.Address}
	r.stop = sync.OnceFunc(func() {
		if w.balancer != nil {
			w.balancer.remove(cfg.Address)
		}
		stop()
	})
	w.Cleanup(r.stop)
	return r
}

// ready waits until a replica is ready, and adds it to the Service.
func (w *world) ready(r *replica) {
	w.Helper()
	w.eventually("a replica to be ready", func(context.Context) error { return r.Check(nil) })
	if w.balancer != nil {
		w.balancer.add(r.address)
	}
}

// rules are the rules that the replicas of the tests serve.
type rules struct{}

func (rules) Default(_ context.Context, b *box.Box) error {
	if b.Spec.Data["size"] == "" {
		if b.Spec.Data == nil {
			b.Spec.Data = map[string]string{}
		}
		b.Spec.Data["size"] = "1"
	}
	return nil
}

func (rules) Validate(_ context.Context, b *box.Box, about *webhook.Admission[*box.Box]) field.ErrorList {
	if b.Spec.Data["old"] != "" {
		about.Warn("spec.data.old is old")
	}
	if b.Spec.Data["size"] == "0" {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "data", "size"), "0", "want 1 or more")}
	}
	return nil
}

// patient are the options of hooks that have to answer, also on a slow machine.
var patient = webhook.Options{Timeout: 30 * time.Second}

func (w *world) hooks() []webhook.Hook {
	return []webhook.Hook{
		webhook.Defaulting[*box.Box](w.scheme, boxKind, rules{}, patient),
		webhook.Validating[*box.Box](w.scheme, boxKind, rules{}.Validate, patient),
	}
}

// asks sends a Box of a given size, which is not stored, and returns the result.
func (w *world) asks(ctx context.Context, size string) (*box.Box, error) {
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-", Namespace: w.Namespace}}
	if size != "" {
		b.Spec.Data = map[string]string{"size": size}
	}
	return b, w.client.Create(ctx, b, client.DryRunAll)
}

// works waits until the API server sends requests to the operator. It receives the configurations for defaults and for
// rules separately.
func (w *world) works() {
	w.Helper()
	w.eventually("the API server to ask the operator", w.working)
	w.eventually("the API server to ask what is allowed", func(ctx context.Context) error {
		if _, err := w.asks(ctx, "0"); !apierrors.IsInvalid(err) {
			return fmt.Errorf("what is forbidden: %w", err)
		}
		return nil
	})
}

func (w *world) working(ctx context.Context) error {
	b, err := w.asks(ctx, "")
	if err != nil {
		return err
	}
	if b.Spec.Data["size"] != "1" {
		return fmt.Errorf("there is no default in %v", b.Spec.Data)
	}
	return nil
}

// kept returns the Secret that the replicas share.
func (w *world) kept() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: service + "-certificates"}}
}

// leafKept returns the leaf in the Secret.
func (w *world) leafKept(ctx context.Context) (*x509.Certificate, error) {
	secret := w.kept()
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(secret.Data["tls.crt"])
	if block == nil {
		return nil, errors.New("no leaf is kept")
	}
	return x509.ParseCertificate(block.Bytes)
}

// served returns the leaf that is served at an address.
func served(ctx context.Context, address string) (*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the test reads the certificate, and does not trust it
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// serve waits until all replicas serve the stored leaf.
func (w *world) serve(replicas ...*replica) *x509.Certificate {
	w.Helper()
	var leaf *x509.Certificate
	w.eventually("all replicas to serve what is kept", func(ctx context.Context) (err error) {
		if leaf, err = w.leafKept(ctx); err != nil {
			return err
		}
		for i, r := range replicas {
			now, err := served(ctx, r.address)
			if err != nil {
				return err
			}
			if !now.Equal(leaf) {
				return fmt.Errorf("replica %d serves %s, kept is %s", i, now.Subject, leaf.Subject)
			}
		}
		return nil
	})
	return leaf
}

// validating returns the operator's configuration.
func (w *world) validating() *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
}

// balancer forwards connections to replicas in turn, as a Service does.
type balancer struct {
	port int32
	mu   sync.Mutex
	to   []string
	next int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	b := &balancer{port: int32(listener.Addr().(*net.TCPAddr).Port)}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(connection)
		}
	}()
	return b
}

func (b *balancer) add(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = append(b.to, address)
}

func (b *balancer) remove(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []string
	for _, one := range b.to {
		if one != address {
			left = append(left, one)
		}
	}
	b.to = left
}

func (b *balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.to) == 0 {
		return ""
	}
	b.next++
	return b.to[b.next%len(b.to)]
}

func (b *balancer) forward(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", b.choose())
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// traffic counts requests to an API server, except watches.
type traffic struct {
	mu   sync.Mutex
	sent []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (t *traffic) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" {
			t.mu.Lock()
			t.sent = append(t.sent, r.Method+" "+r.URL.Path)
			t.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (t *traffic) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.sent...)
}
