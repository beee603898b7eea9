package metrics

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics"
)

// pods is the resource pods.
type pods struct {
	table
	reader *reader
}

var (
	_ rest.Getter               = pods{}
	_ rest.Lister               = pods{}
	_ rest.Scoper               = pods{}
	_ rest.SingularNameProvider = pods{}
)

func (pods) New() runtime.Object     { return &metrics.PodMetrics{} }
func (pods) NewList() runtime.Object { return &metrics.PodMetricsList{} }
func (pods) Destroy()                {}
func (pods) NamespaceScoped() bool   { return true }

// GetSingularName returns an empty name, so clients use the name of the kind: pod is the name of another resource.
func (pods) GetSingularName() string { return "" }

// List implements rest.Lister.
func (p pods) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	found, err := p.reader.pods(ctx, request.NamespaceValue(ctx), selection(options))
	if err != nil {
		return nil, err
	}
	return &metrics.PodMetricsList{Items: found}, nil
}

// Get implements rest.Getter.
func (p pods) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := p.reader.pods(ctx, request.NamespaceValue(ctx), named(name))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(metrics.Resource("pods"), name)
	}
	return &found[0], nil
}

// selection returns the selectors of a list request.
func selection(options *internalversion.ListOptions) metav1.ListOptions {
	selected := metav1.ListOptions{ResourceVersion: cached}
	if options != nil && options.LabelSelector != nil {
		selected.LabelSelector = options.LabelSelector.String()
	}
	if options != nil && options.FieldSelector != nil {
		selected.FieldSelector = options.FieldSelector.String()
	}
	return selected
}

func named(name string) metav1.ListOptions {
	return metav1.ListOptions{
		ResourceVersion: cached,
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	}
}
