// Command asked is what API servers ask.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() {
	operon.Main("asked-operator", operon.Manage(Shops{}), operon.Manage(Services{}, operon.WithoutStatus()), operon.Manage(Olds{}, operon.Rules(operon.Rule{Check: "true"})))
}

type Shops struct{}

func (Shops) Compose(context.Context, *v1.Shop, *operon.Composition) error { return nil }

func (Shops) Default(context.Context, *v1.Shop) error { return nil }

// Olds are converted, and judged by API servers.
type Olds struct{}

func (Olds) Compose(context.Context, *v1.Old, *operon.Composition) error { return nil }

// Services labels objects of a kind that is not its own.
type Services struct{}

func (Services) Compose(_ context.Context, s *corev1.Service, out *operon.Composition) error {
	out.Label("type", string(s.Spec.Type))
	return nil
}
