package metrics

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics"
)

// nodes is the resource nodes.
type nodes struct {
	table
	reader *reader
}

var (
	_ rest.Getter               = nodes{}
	_ rest.Lister               = nodes{}
	_ rest.Scoper               = nodes{}
	_ rest.SingularNameProvider = nodes{}
)

func (nodes) New() runtime.Object     { return &metrics.NodeMetrics{} }
func (nodes) NewList() runtime.Object { return &metrics.NodeMetricsList{} }
func (nodes) Destroy()                {}
func (nodes) NamespaceScoped() bool   { return false }

// GetSingularName returns an empty name, so clients use the name of the kind: node is the name of another resource.
func (nodes) GetSingularName() string { return "" }

// List implements rest.Lister.
func (n nodes) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	found, err := n.reader.nodes(ctx, selection(options))
	if err != nil {
		return nil, err
	}
	return &metrics.NodeMetricsList{Items: found}, nil
}

// Get implements rest.Getter.
func (n nodes) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := n.reader.nodes(ctx, named(name))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(metrics.Resource("nodes"), name)
	}
	return &found[0], nil
}
