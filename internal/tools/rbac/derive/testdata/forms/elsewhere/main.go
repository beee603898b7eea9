// Command elsewhere declares children in other namespaces, which it takes from lists: its kind gets a finalizer.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() { operon.Main("elsewhere-operator", operon.Manage(Shops{})) }

type Shops struct{}

func (Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	for _, c := range []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: "common"}}} {
		out.Child(c)
	}
	return nil
}
