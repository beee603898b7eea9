package main

import (
	"context"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/fbc"
)

// service is the name of the Service by which the API server reaches the manager.
const service = "olm-webhook"

// lists is how often PackageManifests are listed.
const lists = 5

// reach chooses a port of the manager on loopback, and creates a Service that leads there.
func (w *world) reach(ctx context.Context) (port string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "", err
	}
	if err := listener.Close(); err != nil {
		return "", err
	}
	return port, w.Client.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: catalogs, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
}

// list returns the number of PackageManifests that a namespace sees, and how long lists of them take.
func (w *world) list(ctx context.Context) (count int, took []time.Duration, err error) {
	want := w.bundles/fbc.PerPackage + w.operators
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("packages.operators.coreos.com/v1")
	list.SetKind("PackageManifestList")
	err = wait.PollUntilContextTimeout(ctx, timing.poll, timing.install, true, func(ctx context.Context) (bool, error) {
		found := w.Client.List(ctx, list, client.InNamespace("tenant-00000"))
		return found == nil && len(list.Items) == want, nil // the API is registered a moment after the start
	})
	if err != nil {
		return 0, nil, fmt.Errorf("PackageManifests: there are %d, want %d: %w", len(list.Items), want, err)
	}
	for range lists {
		begin := time.Now()
		if err := w.Client.List(ctx, list, client.InNamespace("tenant-00000")); err != nil {
			return 0, nil, err
		}
		took = append(took, time.Since(begin))
	}
	return len(list.Items), took, nil
}
