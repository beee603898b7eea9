// Command untraced declares children from lists that come from elsewhere: their names and namespaces may be any.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() { operon.Main("untraced-operator", operon.Manage(Shops{})) }

type Shops struct{ common *corev1.ConfigMap }

func (m Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	for _, c := range []*corev1.ConfigMap{m.common} {
		out.Child(c)
	}
	return nil
}
