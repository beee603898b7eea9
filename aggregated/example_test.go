package aggregated_test

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/aggregated"
)

// Usage is how much of its disk a node uses. It is measured when a client asks, and never stored.
type Usage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Bytes int64 `json:"bytes"`
}

// UsageList is a list of Usages. It has to be registered beside Usage.
type UsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Usage `json:"items"`
}

// DeepCopyObject implements runtime.Object. In your project, controller-gen generates it.
func (u *Usage) DeepCopyObject() runtime.Object {
	out := *u
	u.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *UsageList) DeepCopyObject() runtime.Object {
	out := *l
	l.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range out.Items {
		l.Items[i].DeepCopyInto(&out.Items[i].ObjectMeta)
	}
	return &out
}

func addUsage(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "usage.example.com", Version: "v1alpha1"}
	scheme.AddKnownTypes(version, &Usage{}, &UsageList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// usages is a Reader: clients can get and list its objects. The function measures all nodes.
type usages func(context.Context) (map[string]int64, error)

func (u usages) Get(ctx context.Context, key client.ObjectKey) (*Usage, error) {
	measured, err := u(ctx)
	if err != nil {
		return nil, err
	}
	bytes, found := measured[key.Name]
	if !found {
		return nil, aggregated.ErrNotFound
	}
	return &Usage{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Bytes: bytes}, nil
}

func (u usages) List(ctx context.Context, _ string) ([]*Usage, error) {
	measured, err := u(ctx)
	var list []*Usage
	for _, node := range slices.Sorted(maps.Keys(measured)) {
		list = append(list, &Usage{ObjectMeta: metav1.ObjectMeta{Name: node}, Bytes: measured[node]})
	}
	return list, err
}

// An operator that serves a read-only kind: kubectl get usages shows how much of its disk each node uses.
func ExampleServe() {
	measure := func(context.Context) (map[string]int64, error) {
		return map[string]int64{"node-a": 42 << 30, "node-b": 17 << 30}, nil
	}
	operon.Main("usage-operator",
		aggregated.Serve(addUsage,
			aggregated.Kind(usages(measure), aggregated.Resource[*Usage]{
				ClusterScoped: true,
				ShortNames:    []string{"us"},
				Columns: []aggregated.Column[*Usage]{
					{Name: "Bytes", Type: "integer", Of: func(u *Usage) any { return u.Bytes }},
				},
			}),
		),
	)
}
