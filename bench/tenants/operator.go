package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/box"
)

// serveTenants runs the operator until ctx ends, and prints the number of its requests.
func serveTenants(ctx context.Context, kubeconfig string, namespaces []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	var sent atomic.Int64
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("watch") == "" {
				sent.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	err = operon.Run(ctx, "bench-operator", config, operon.Config{Namespaces: namespaces}, operon.API(box.AddToScheme), operon.Manage(composer{}))
	fmt.Println(sent.Load())
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// composer composes a ConfigMap for a Box, and a Service after it.
type composer struct{}

func (composer) Compose(_ context.Context, b *box.Box, out *operon.Composition) error {
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: b.Spec.Data}
	out.Child(data)
	out.Child(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: b.Name},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": b.Name}},
	}, operon.After(data))
	return nil
}
