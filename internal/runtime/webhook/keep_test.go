package webhook

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/local/localtest"
)

// replicas are the loops of an operator's replicas, which a test runs turn by turn.
type replicas struct {
	*testing.T
	cfg Config
}

// TestReplicas has a test for each effect that replicas may have on each other.
func TestReplicas(t *testing.T) {
	t.Parallel()
	cluster := newReplicas(t)
	for name, test := range map[string]func(*replicas){
		"an old bundle is not put back":                oldBundle,
		"who does not lead changes bundles only":       bundlesOnly,
		"the version after a rollback is recorded":     rolledBack,
		"one instance converts":                        oneConverter,
		"a contest is bounded":                         contest,
		"of decisions at the same time one is carried": oneDecision,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := cluster.cfg
			cfg.Name += "." + strings.ReplaceAll(name, " ", "-")
			test(&replicas{t, cfg})
		})
	}
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	transport, err := rest.HTTPClientFor(env.Config)
	mapper, failed := apiutil.NewDynamicRESTMapper(env.Config, transport)
	direct, none := client.New(env.Config, client.Options{HTTPClient: transport, Mapper: mapper, Scheme: clientgoscheme.Scheme})
	wired, wrong := resourceclient.New(resourceclient.Config{REST: env.Config, HTTP: transport, Mapper: mapper, Scheme: runtime.NewScheme()})
	if err := errors.Join(err, failed, none, wrong); err != nil {
		t.Fatal(err)
	}
	return &replicas{t, Config{
		Operator: "op-" + env.Namespace, Name: "op-" + env.Namespace, Namespaces: []string{env.Namespace}, Address: "127.0.0.1:0",
		Service: types.NamespacedName{Namespace: env.Namespace, Name: "asked"},
		API:     API{Wire: wired, Client: direct, Mapper: mapper}, Log: logr.Discard(),
	}}
}

// kind is the kind of the objects in the requests to the replicas.
var kind = schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Box"}

// replica creates the loop of one replica, with a source of certificates and options of its hook. It serves
// nothing: it receives no requests.
func (r *replicas) replica(from source, options Options) *keeper {
	r.Helper()
	s, err := New(r.cfg)
	if err != nil {
		r.Fatal(err)
	}
	s.Add(Hook{Role: Validate, Kind: kind, Handler: http.NotFoundHandler(), Options: options})
	s.place = place{service: s.Service, port: s.ServicePort}
	k := &keeper{Server: s, source: from, limit: rate.NewLimiter(rate.Every(timing.repairEvery), repairs)}
	k.registry = s.registry()
	if k.registry.all, err = s.registrations(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		err := k.registry.remove(context.WithoutCancel(r.Context()), k.registry.all[:1], k.occupied)
		if err != nil {
			r.Error(err)
		}
	})
	return k
}

// bundle returns the registered bundle.
func (r *replicas) bundle(k *keeper) []byte {
	r.Helper()
	live, err := k.registry.get(r.Context(), k.registry.all[0].id())
	if err != nil || live == nil {
		r.Fatalf("%v, error %v", live, err)
	}
	return k.registry.all[0].asked(live)[0].bundle
}

// fixed is a source with a CA that never changes. meanwhile may be nil.
type fixed struct {
	ca        *x509.Certificate
	meanwhile func()
}

func newFixed(t *testing.T) fixed {
	t.Helper()
	ca, err := testIssuer.Authority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return fixed{ca: ca.Cert}
}

func (f fixed) current(context.Context, func(string) bool, time.Time) (certificates, bool, error) {
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return certificates{bundle: []*x509.Certificate{f.ca}}, false, nil
}

// A replica that sleeps between reading certificates and registering their bundle wakes up with an outdated
// one. It does not restore it, neither if it saw nothing to write nor if another client had emptied the bundle that it saw.
func oldBundle(r *replicas) {
	before, after := newFixed(r.T), newFixed(r.T)
	fresh := r.replica(after, Options{})
	for _, emptied := range []bool{false, true} {
		slept := r.replica(before, Options{})
		if _, _, err := slept.turn(r.Context()); err != nil {
			r.Fatal(err)
		}
		if emptied {
			r.empty(slept)
		}
		late := before
		late.meanwhile = func() {
			if _, _, err := fresh.turn(r.Context()); err != nil {
				r.Error(err)
			}
		}
		slept.source = late
		if _, _, err := slept.turn(r.Context()); conflicts(err) != emptied || !emptied && err != nil {
			r.Errorf("emptied: %v: error %v", emptied, err)
		}
		if !certificate.Contains(r.bundle(fresh), certificate.ID(after.ca)) {
			r.Errorf("emptied: %v: the old bundle is back", emptied)
		}
	}
}

// empty removes the bundle from the registration.
func (r *replicas) empty(k *keeper) {
	r.Helper()
	live, err := k.registry.get(r.Context(), k.registry.all[0].id())
	if err == nil {
		patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`))
		err = r.cfg.Client.Patch(r.Context(), live, patch)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// A replica that is not the leader writes bundles and does not change the rest: during an upgrade replicas
// want different things.
func bundlesOnly(r *replicas) {
	r.cfg.Version = "2.0.0"
	leader := r.replica(newFixed(r.T), Options{})
	r.cfg.Version = "1.0.0"
	follower := r.replica(newFixed(r.T), Options{FailOpen: true})
	follower.Leads = make(chan struct{})
	if _, wrote, err := follower.turn(r.Context()); wrote || err != nil {
		r.Errorf("it wrote %v what nobody has registered, error %v", wrote, err)
	}
	for _, k := range []*keeper{leader, follower} {
		if _, wrote, err := k.turn(r.Context()); !wrote || err != nil {
			r.Fatalf("it wrote: %v, error %v", wrote, err)
		}
	}
	if !certificate.Contains(r.bundle(follower), certificate.ID(follower.source.(fixed).ca)) {
		r.Error("the follower's bundle is not registered")
	}
	live, err := follower.registry.get(r.Context(), follower.registry.all[0].id())
	if err != nil {
		r.Fatal(err)
	}
	if text, _ := json.Marshal(live); !strings.Contains(string(text), `"failurePolicy":"Fail"`) || live.GetAnnotations()[versionAnnotation] != "2.0.0" {
		r.Errorf("it is %s", text)
	}
	if _, wrote, err := follower.turn(r.Context()); wrote || err != nil {
		r.Errorf("it wrote %v though nothing has changed, error %v", wrote, err)
	}
}

// A version that registers the same webhooks as an older one writes nothing. One that registers the same as a newer one, after a rollback, records
// its version: otherwise, a webhook that the next version drops would count as one of a newer version, and requests to it would fail.
func rolledBack(r *replicas) {
	from := newFixed(r.T)
	for _, release := range []struct {
		version          string
		failOpen, writes bool
		recorded         string
	}{
		{"1.0.0", false, true, "1.0.0"},
		{"2.0.0", false, false, "1.0.0"},
		{"2.0.0", true, true, "2.0.0"},
		{"1.0.0", true, true, "1.0.0"},
		{"1.0.0", true, false, "1.0.0"},
	} {
		r.cfg.Version = release.version
		k := r.replica(from, Options{FailOpen: release.failOpen})
		if _, wrote, err := k.turn(r.Context()); wrote != release.writes || err != nil {
			r.Fatalf("%+v: it wrote: %t, error %v", release, wrote, err)
		}
		live, err := k.registry.get(r.Context(), k.registry.all[0].id())
		if err != nil {
			r.Fatal(err)
		}
		if recorded := live.GetAnnotations()[versionAnnotation]; recorded != release.recorded {
			r.Errorf("%+v: recorded is %q", release, recorded)
		}
	}
	r.cfg.Version = "1.1.0"
	next := r.replica(from, Options{FailOpen: true})
	if _, _, err := next.turn(r.Context()); err != nil {
		r.Fatal(err)
	}
	if !(*next.before.Load())[next.hooks[0].path()] {
		r.Error("for the next version, the webhook is not one of an older version")
	}
}

// A client that reverts a registration repeatedly is reported, and the operator limits its repairs.
func contest(r *replicas) {
	k := r.replica(newFixed(r.T), Options{})
	theirs := newFixed(r.T)
	other := r.replica(theirs, Options{})
	for n := range repairs + 3 {
		_, _, err := k.turn(r.Context())
		if contest := n > repairs; errors.Is(err, errContest) != contest {
			r.Fatalf("write %d: error %v", n, err)
		}
		other.limit = rate.NewLimiter(rate.Inf, 1)
		if _, _, err := other.turn(r.Context()); err != nil {
			r.Fatal(err)
		}
	}
}

// late is a store whose content another client changes between reading and writing.
type late struct {
	store
	meanwhile func()
}

func (l late) load(ctx context.Context) (map[string][]byte, string, error) {
	data, version, err := l.store.load(ctx)
	l.meanwhile()
	return data, version, err
}

// Of replicas that decide at the same time one stores its decision, and the others decide again.
func oneDecision(r *replicas) {
	key := types.NamespacedName{Namespace: r.cfg.Service.Namespace, Name: "decided"}
	replica := func() own {
		return own{issuer: testIssuer, store: newSecret(r.cfg.Wire, key, "op"), log: logr.Discard()}
	}
	fast, slow := replica(), replica()
	now := time.Now()
	for _, do := range []rotation.Action{rotation.Make, rotation.Renew} {
		var first map[string][]byte
		slow.store = late{replica().store, func() {
			if _, more, err := fast.current(r.Context(), nil, now); !more || err != nil {
				r.Fatalf("%s: done: %v, error %v", do, more, err)
			}
			first, _, _ = fast.store.load(r.Context())
		}}
		if _, _, err := slow.current(r.Context(), nil, now); !conflicts(err) {
			r.Errorf("%s: error %v, want a conflict", do, err)
		}
		kept, _, err := fast.store.load(r.Context())
		if err != nil || !slices.Equal(kept[keyLeaf], first[keyLeaf]) || !slices.Equal(kept[keyCAKey], first[keyCAKey]) {
			r.Errorf("%s: what the first one kept is gone, error %v", do, err)
		}
		now = now.Add(testIssuer.Times.Leaf / 3 * 2)
	}
	endpoint, err := r.cfg.Wire.Endpoint(secretKind, resourceclient.Loose)
	if err != nil {
		r.Fatal(err)
	}
	live, err := endpoint.Get(r.Context(), key.Namespace, key.Name)
	if err != nil {
		r.Fatal(err)
	}
	var secret corev1.Secret
	if err := typedFrom(live, &secret); err != nil || len(secret.ManagedFields) != 1 {
		r.Errorf("the Secret has the field managers %+v, want one, however many replicas wrote it: %v", secret.ManagedFields, err)
	}
}

// During an upgrade a replica receives requests that only others can answer. Requests for a registration of an earlier
// version are admitted, those for a registration that a newer version added since, or before this replica restarted, are not.
func TestPathsThatNobodyServes(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Version: "1.1.0", Address: "127.0.0.1:0", API: API{Wire: &resourceclient.Wire{}, Client: noClient{}, Mapper: meta.MultiRESTMapper{}}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.routes.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		return answer
	}
	const review = `{"request":{"uid":"x"}}`
	if answer := post("/removed", review); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("before anything is known: status %d", answer.Code)
	}
	registered := func(path, version string) map[ident]*unstructured.Unstructured {
		return map[ident]*unstructured.Unstructured{{name: "one"}: {Object: map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{entriesAnnotation: "a.b.c", versionAnnotation: version}},
			"webhooks": []any{map[string]any{"name": "a.b.c", "clientConfig": map[string]any{
				"service": map[string]any{"namespace": "n", "name": "s", "path": path},
			}}},
		}}}
	}
	s.remember(registered("/removed", "1.0.0"))
	s.remember(registered("/added", "1.0.0"))
	for body, want := range map[string]int{review: http.StatusOK, `{}`: http.StatusNotFound, `nonsense`: http.StatusNotFound} {
		answer := post("/removed", body)
		if answer.Code != want {
			t.Errorf("%s: status %d, want %d", body, answer.Code, want)
		}
		if want == http.StatusOK && !strings.Contains(answer.Body.String(), `"response":{"uid":"x","allowed":true}`) {
			t.Errorf("answer %s", answer.Body)
		}
	}
	if answer := post("/added", review); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("a newer version's path: status %d, answer %s", answer.Code, answer.Body)
	}
	for _, version := range []struct {
		of, own string
		older   bool
	}{{"1.2.0", "1.1.0", false}, {"1.1.0", "1.1.0", false}, {"", "1.1.0", true}, {"", "", true}, {"1.0.0", "", true}} {
		s.before.Store(nil)
		s.Version = version.own
		s.remember(registered("/removed", version.of))
		if answer := post("/removed", review); (answer.Code == http.StatusOK) != version.older {
			t.Errorf("registered by %q, and this is %q: status %d", version.of, version.own, answer.Code)
		}
	}
}

type noClient struct{ client.Client }
