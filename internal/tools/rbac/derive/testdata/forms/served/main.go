// Command served is an API server, and has no composer.
package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/aggregated"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() {
	operon.Main("served-operator", aggregated.Serve(v1.AddToScheme,
		aggregated.Kind(&Shops{}, aggregated.Resource[*v1.Shop]{}),
		aggregated.Review(Days{}, aggregated.Resource[*v1.Day]{}),
	))
}

type Shops struct{}

func (Shops) Get(context.Context, client.ObjectKey) (*v1.Shop, error) {
	return nil, aggregated.ErrNotFound
}

func (Shops) List(context.Context, string) ([]*v1.Shop, error) { return nil, nil }

// Days are of a type whose methods are generated, and not there yet.
type Days struct{}

func (Days) Create(_ context.Context, asked *v1.Day) (*v1.Day, error) { return asked, nil }
