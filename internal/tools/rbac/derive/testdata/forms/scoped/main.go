// Command scoped has children in no namespace, which no Go type tells: garbage collection does not reach them.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() {
	operon.Main("scoped-operator", operon.Manage(Shops{}), operon.Manage(Olds{}), operon.Manage(Malls{}))
}

type Shops struct{}

func (Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	// Known to be in no namespace.
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}})
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}})
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "shops.example.com/v1", "kind": "Mall"}})
	// Not known.
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer"}})
	return nil
}

// Olds have children that are known to be in their namespace.
type Olds struct{}

func (Olds) Compose(ctx context.Context, o *v1.Old, out *operon.Composition) error {
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}})
	// +operon:kind:group=cert-manager.io,resource=certificates
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}})
	return nil
}

// Malls are in no namespace, so that all that they have is collected.
type Malls struct{}

func (Malls) Compose(ctx context.Context, m *v1.Mall, out *operon.Composition) error {
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}})
	out.Child(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Planet"}})
	return nil
}
