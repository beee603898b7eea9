// Command loose has objects whose kinds no Go type tells.
package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() { operon.Main("loose-operator", operon.Manage(Shops{})) }

var ruleKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"}

type Shops struct{}

func (Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"})
	out.Child(monitor)
	out.Child(rule())
	out.Child(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "spec": map[string]any{"issuerRef": map[string]any{"kind": "Issuer"}},
	}})
	// +operon:kind:group=example.com,resource=widgets
	// +operon:kind:group=example.com,resource=planets,scope=Cluster
	out.Child(given(s))
	out.Child(given(s))
	out.Child(given(s)) // +operon:kind:group=example.com,plural=widgets
	nodes := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
	if err := out.List(ctx, nodes, nil, operon.Everything); err != nil {
		return err
	}
	return out.In("east").List(ctx, &unstructured.UnstructuredList{}, nil)
}

func rule() *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(ruleKind)
	return made
}

func given(s *v1.Shop) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetKind(s.Spec.Name)
	return made
}
