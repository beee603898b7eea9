package operon_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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
