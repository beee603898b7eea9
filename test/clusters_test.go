package operon_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// mirror composes a copy of a ConfigMap in another cluster.
func mirror(namespace string) boxtest.ComposeContextFunc {
	return func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		source := boxtest.ConfigMap(b.Name, nil)
		source.Namespace = namespace
		found, err := out.In("east").Get(ctx, source)
		if err != nil {
			return err
		}
		if !found {
			out.Wait("NoSource", "waits for ConfigMap "+b.Name+" in the cluster east")
			return nil
		}
		out.Child(boxtest.ConfigMap(b.Name, source.Data))
		return nil
	}
}

// An object is reconciled when an object that it reads in another cluster changes. Nothing is written there.
func TestReadsInAnotherCluster(t *testing.T) {
	t.Parallel()
	w, east := newFixture(t), localtest.New(t, local.Options{})
	there, err := client.New(east.Config, client.Options{})
	w.Must(err)
	quiet, writes := boxtest.Written(east.Config)
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace},
		operon.API(boxtest.AddToScheme), operon.Manage(mirror(east.Namespace)), operon.Cluster("east", quiet))
	b := w.Box("mirrored", nil)
	w.Ready(b, metav1.ConditionFalse, "NoSource", "in the cluster east")

	source := boxtest.ConfigMap(b.Name, map[string]string{"a": "1"})
	source.Namespace = east.Namespace
	w.Must(there.Create(t.Context(), source))
	w.Holds(w.EmptyConfigMap(b.Name), map[string]string{"a": "1"})
	w.IsReady(b)
	before := source.DeepCopy()
	source.Data["a"] = "2"
	w.Must(there.Patch(t.Context(), source, client.MergeFrom(before)))
	w.Holds(w.EmptyConfigMap(b.Name), map[string]string{"a": "2"})
	w.Must(there.Delete(t.Context(), source))
	w.Ready(b, metav1.ConditionFalse, "NoSource", "in the cluster east")
	if got := writes(); len(got) > 0 {
		t.Errorf("in the other cluster was written %q", got)
	}
}

// The connection to another cluster only reads: no request that writes is sent, whichever method of a client it comes from.
func TestAnotherClusterIsReadOnly(t *testing.T) {
	t.Parallel()
	w, east := newFixture(t), localtest.Shared(t)
	quiet, written := boxtest.Written(east.Config)
	config, connection := tapped(w, quiet)
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace},
		operon.API(boxtest.AddToScheme), operon.Manage(mirror(east.Namespace)), operon.Cluster("east", config))
	source := boxtest.ConfigMap("kept", map[string]string{"a": "1"})
	source.Namespace = east.Namespace
	w.Must(w.Client.Create(t.Context(), source))
	w.IsReady(w.Box(source.Name, nil)) // the operator has read by the connection

	c, err := client.New(&rest.Config{Host: east.Config.Host, QPS: -1, Transport: connection()}, client.Options{})
	w.Must(err)
	for method, write := range writing(c, source) {
		if err := write(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing is written") {
			t.Errorf("%s: error %v, want that nothing is written", method, err)
		}
	}
	if got := written(); len(got) > 0 {
		t.Errorf("in the other cluster was written %q", got)
	}
	after := &corev1.ConfigMap{}
	w.Must(c.Get(t.Context(), client.ObjectKeyFromObject(source), after))
	if after.ResourceVersion != source.ResourceVersion {
		t.Errorf("the ConfigMap changed to %v", after)
	}
}

// writing returns calls of all methods with which a client writes, by their names. On a connection that can write, each of them would succeed: config
// exists, and so does its namespace.
func writing(c client.Client, config *corev1.ConfigMap) map[string]func(context.Context) error {
	const owner = client.FieldOwner("test")
	in, patch := config.Namespace, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"a": "b"}}}`))
	another, changed := boxtest.ConfigMap("another", nil), config.DeepCopy()
	another.Namespace, changed.Data = in, map[string]string{"a": "2"}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: in}}
	return map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error { return c.Create(ctx, another) },
		"Update": func(ctx context.Context) error { return c.Update(ctx, changed) },
		"Patch":  func(ctx context.Context) error { return c.Patch(ctx, config.DeepCopy(), patch) },
		"Apply": func(ctx context.Context) error {
			return c.Apply(ctx, corev1ac.ConfigMap("applied", in).WithData(map[string]string{"a": "3"}), owner)
		},
		"Delete": func(ctx context.Context) error { return c.Delete(ctx, config.DeepCopy()) },
		"DeleteAllOf": func(ctx context.Context) error {
			return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(in))
		},
		"Status.Update": func(ctx context.Context) error { return c.Status().Update(ctx, namespace.DeepCopy()) },
		"Status.Patch":  func(ctx context.Context) error { return c.Status().Patch(ctx, namespace.DeepCopy(), patch) },
		"Status.Apply": func(ctx context.Context) error {
			return c.Status().Apply(ctx, corev1ac.Namespace(in).WithStatus(corev1ac.NamespaceStatus().WithPhase(corev1.NamespaceActive)), owner)
		},
		"SubResource.Create": func(ctx context.Context) error {
			return c.SubResource("token").Create(ctx, account, &authenticationv1.TokenRequest{})
		},
	}
}

// tapped returns a configuration, and a function that returns the connection of the program that the configuration is given to, with everything that
// the program wraps around it. client-go gives it to authentication plugins, of which the configuration names one.
func tapped(w *fixture, config *rest.Config) (withTap *rest.Config, connection func() http.RoundTripper) {
	w.Helper()
	plugin := &tap{}
	w.Must(rest.RegisterAuthProviderPlugin(w.Namespace, func(string, map[string]string, rest.AuthProviderConfigPersister) (rest.AuthProvider, error) {
		return plugin, nil
	}))
	withTap = rest.CopyConfig(config)
	withTap.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: w.Namespace}
	return withTap, func() http.RoundTripper {
		w.Helper()
		plugin.mu.Lock()
		defer plugin.mu.Unlock()
		if plugin.connection == nil {
			w.Fatal("no program has connected")
		}
		return plugin.connection
	}
}

// tap is an authentication plugin that changes no request and keeps the connection.
type tap struct {
	mu         sync.Mutex
	connection http.RoundTripper
}

// WrapTransport implements rest.AuthProvider.
func (p *tap) WrapTransport(connection http.RoundTripper) http.RoundTripper {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connection = connection
	return connection
}

// Login implements rest.AuthProvider.
func (*tap) Login() error { return nil }

// An unreachable cluster only prevents objects from being ready that read in it.
func TestClusterThatIsAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme),
		operon.Cluster("east", &rest.Config{Host: "http://127.0.0.1:1"}),
		operon.Manage(boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
			switch b.Name {
			case "reads":
				_, err := out.In("east").Get(ctx, &corev1.Secret{ObjectMeta: w.Meta("any")})
				return err
			case "mistaken":
				return out.In("west").List(ctx, &corev1.SecretList{}, client.MatchingLabels{"a": "b"})
			}
			return boxtest.Copies(b, out)
		})))
	w.Ready(w.Box("reads", nil), metav1.ConditionFalse, "ReconcileFailed", "127.0.0.1:1")
	w.Ready(w.Box("mistaken", nil), metav1.ConditionFalse, "ReconcileFailed", `has no cluster "west", only east`)
	w.IsReady(w.Box("good", nil))
}

func TestClusterMistakes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for want, parts := range map[string][]operon.Option{
		"needs a name":         {operon.Cluster("", w.Config)},
		"there are two of":     {operon.Cluster("east", w.Config), operon.Cluster("east", w.Config)},
		`cluster "east": host`: {operon.Cluster("east", &rest.Config{Host: "http://no host"})},
	} {
		err := operon.Run(t.Context(), "mistaken", w.Config, operon.Config{}, parts...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
