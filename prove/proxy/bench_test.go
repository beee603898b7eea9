package proxy_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove/proxy"
)

// BenchmarkRequest measures requests one after another, with and without a proxy, and one whose
// observer looks at the object before each patch.
func BenchmarkRequest(b *testing.B) {
	env := localtest.Shared(b)
	bare := started(b, proxy.Options{Server: env.Config})
	observing := started(b, proxy.Options{Server: env.Config, Observer: env.Config})
	if _, err := maps(env.Config, env.Namespace).Create(b.Context(), configMap("x", nil), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	for verb, request := range map[string]func(typedcorev1.ConfigMapInterface) error{
		"get": func(c typedcorev1.ConfigMapInterface) error {
			_, err := c.Get(b.Context(), "x", metav1.GetOptions{})
			return err
		},
		"patch": func(c typedcorev1.ConfigMapInterface) error {
			_, err := c.Patch(b.Context(), "x", types.MergePatchType, []byte(`{"data":{"a":"1"}}`), metav1.PatchOptions{})
			return err
		},
	} {
		for way, config := range map[string]*rest.Config{"direct": env.Config, "proxy": bare, "observed": observing} {
			b.Run(verb+"/"+way, func(b *testing.B) { median(b, maps(config, env.Namespace), request) })
		}
	}
}

func started(b *testing.B, options proxy.Options) *rest.Config {
	b.Helper()
	p, err := proxy.Start(options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	})
	return p.Config()
}

// maps are the ConfigMaps of a namespace, for a client that does not hold itself back.
func maps(config *rest.Config, namespace string) typedcorev1.ConfigMapInterface {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
}

// median reports the time that half of the requests stay below.
func median(b *testing.B, client typedcorev1.ConfigMapInterface, request func(typedcorev1.ConfigMapInterface) error) {
	var took []time.Duration
	for b.Loop() {
		started := time.Now()
		if err := request(client); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}
