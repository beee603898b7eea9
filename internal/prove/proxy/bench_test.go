package proxy_test

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/local/localtest"
)

// BenchmarkRequest measures single requests, with each way in turn: without a proxy, with a proxy,
// with a proxy that gets resource versions from a witness that watches, and with a proxy whose observer reads
// the object before each patch.
func BenchmarkRequest(b *testing.B) {
	env := localtest.Shared(b)
	seen := witness(b, maps(env.Config, env.Namespace))
	ways := []way{
		{"direct", maps(env.Config, env.Namespace)},
		{"proxy", maps(started(b, proxy.Options{Server: env.Config}), env.Namespace)},
		{"witnessed", maps(started(b, proxy.Options{Server: env.Config, Observer: env.Config, Before: seen}), env.Namespace)},
		{"observed", maps(started(b, proxy.Options{Server: env.Config, Observer: env.Config}), env.Namespace)},
	}
	if _, err := ways[0].client.Create(b.Context(), configMap("x", nil), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.Run("get", func(b *testing.B) { inTurn(b, ways, get) })
	b.Run("patch", func(b *testing.B) { inTurn(b, ways, patch) })
}

// way is a client with a name.
type way struct {
	name   string
	client typedcorev1.ConfigMapInterface
}

func get(b *testing.B, c typedcorev1.ConfigMapInterface) error {
	_, err := c.Get(b.Context(), "x", metav1.GetOptions{})
	return err
}

func patch(b *testing.B, c typedcorev1.ConfigMapInterface) error {
	_, err := c.Patch(b.Context(), "x", types.MergePatchType, []byte(`{"data":{"a":"1"}}`), metav1.PatchOptions{})
	return err
}

// witness watches ConfigMaps and returns a function that reports their resource versions.
func witness(b *testing.B, client typedcorev1.ConfigMapInterface) func(requestlog.Request) (string, bool) {
	b.Helper()
	var versions sync.Map
	stream, err := client.Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stream.Stop)
	go func() {
		for event := range stream.ResultChan() {
			if object, ok := event.Object.(*corev1.ConfigMap); ok {
				versions.Store(object.Name, object.ResourceVersion)
			}
		}
	}()
	return func(r requestlog.Request) (string, bool) {
		version, ok := versions.Load(r.Name)
		if !ok {
			return "0", true
		}
		return version.(string), true
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

// maps returns a client without a rate limit for the ConfigMaps of a namespace.
func maps(config *rest.Config, namespace string) typedcorev1.ConfigMapInterface {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
}

// inTurn reports the median request time of each way. Other load on the machine
// affects all ways.
func inTurn(b *testing.B, ways []way, request func(*testing.B, typedcorev1.ConfigMapInterface) error) {
	took := map[string][]time.Duration{}
	for b.Loop() {
		for _, way := range ways {
			started := time.Now()
			if err := request(b, way.client); err != nil {
				b.Fatal(err)
			}
			took[way.name] = append(took[way.name], time.Since(started))
		}
	}
	for _, way := range ways {
		each := took[way.name]
		slices.SortFunc(each, cmp.Compare)
		b.ReportMetric(float64(each[len(each)/2].Microseconds()), way.name+"-p50-µs")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkThroughput tries to send a thousand requests per second, one in ten a write, without a
// proxy and with a proxy in turn. It reports the actual rates and the percentage that the proxy costs.
func BenchmarkThroughput(b *testing.B) {
	env := localtest.Shared(b)
	direct := maps(env.Config, env.Namespace)
	if _, err := direct.Create(b.Context(), configMap("x", nil), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	options := proxy.Options{Server: env.Config, Observer: env.Config, Before: witness(b, direct)}
	ways := []way{{"direct", direct}, {"proxy", maps(started(b, options), env.Namespace)}}
	const rate, round = 1000, 500
	took := map[string]time.Duration{}
	rounds := 0
	for b.Loop() {
		for _, way := range ways {
			took[way.name] += pace(b, way.client, rate, round)
		}
		rounds++
	}
	for name, each := range took {
		b.ReportMetric(float64(rounds*round)/each.Seconds(), name+"-requests/s")
	}
	b.ReportMetric(100*(1-took["direct"].Seconds()/took["proxy"].Seconds()), "cost-%")
	b.ReportMetric(0, "ns/op")
}

// pace sends count requests at a rate, as far as the workers achieve it, with as many workers as an operator may have.
// It returns the total duration.
func pace(b *testing.B, client typedcorev1.ConfigMapInterface, rate, count int) time.Duration {
	const workers = 16
	var next atomic.Int64
	var all sync.WaitGroup
	started := time.Now()
	for range workers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(count); i = next.Add(1) {
				time.Sleep(time.Until(started.Add(time.Duration(i) * time.Second / time.Duration(rate))))
				request := get
				if i%10 == 0 {
					request = patch
				}
				if err := request(b, client); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(started)
}
