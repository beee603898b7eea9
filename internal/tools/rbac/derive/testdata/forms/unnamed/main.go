// Command unnamed has a name that nobody knows beforehand.
package main

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=delete
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=configmaps,verbs=get

func main() {
	operon.Main(os.Args[0], operon.Manage(Shops{}, operon.RetireFinalizers("shops.example.com/old")))
}

type Shops struct{}

func (Shops) Compose(_ context.Context, _ *v1.Shop, out *operon.Composition) error {
	out.Child(&corev1.ConfigMap{})
	return nil
}

func (Shops) Default(context.Context, *v1.Shop) error { return nil }
