package operon_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	kind "github.com/operon-framework/operon/internal/testing/box"
)

// The kind that the operators of the examples manage.
type (
	Box     = kind.Box
	BoxSpec = kind.BoxSpec
	BoxList = kind.BoxList
)

var addBox = kind.AddToScheme

// compose is a composer that is a function.
type compose func(*Box, *operon.Composition) error

func (c compose) Compose(_ context.Context, b *Box, out *operon.Composition) error { return c(b, out) }

// composing is a composer that reads.
type composing func(context.Context, *Box, *operon.Composition) error

func (c composing) Compose(ctx context.Context, b *Box, out *operon.Composition) error {
	return c(ctx, b, out)
}

// copies composes a ConfigMap with the data of the Box.
func copies(b *Box, out *operon.Composition) error {
	out.Child(config(b.Name, b.Spec.Data))
	return nil
}

func config(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}
