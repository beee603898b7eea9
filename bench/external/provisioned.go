package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/testing/box"
)

// provisioned is the operator that uses Operon.
type provisioned struct {
	rack *rack
	poll time.Duration
}

// ComposeExternal declares the cells.
func (p provisioned) ComposeExternal(_ context.Context, b *box.Box, out *operon.ExternalComposition) error {
	cells := operon.ExternalKind(out, "cell", provider{p.rack}, external.Poll(p.poll), external.Rate(1_000_000, time.Nanosecond))
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Data)) {
		cells.Declare(name, b.Spec.Data[name])
	}
	return nil
}

// Compose implements operon.Composer: there are no child objects.
func (provisioned) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

// provider accesses the rack.
type provider struct{ *rack }

func (p provider) Observe(_ context.Context, id, size string) (external.Observation[string], error) {
	found, ok := p.look(id)
	seen := external.Observation[string]{Exists: ok, State: found.size}
	if ok && found.size != size {
		seen.Drift = []string{"size"}
	}
	return seen, nil
}

func (p provider) Create(_ context.Context, mark external.Mark, size string) (string, error) {
	return p.create(cell{size: size, key: mark.Key}), nil
}

func (provider) Update(context.Context, string, string) error { return errNoUpdates }

func (p provider) Delete(_ context.Context, id string) error {
	p.remove(id)
	return nil
}

func (p provider) Find(_ context.Context, key string) (string, error) { return p.find(key), nil }

func runProvisioned(ctx context.Context, config *rest.Config, namespace string, r *rack, poll time.Duration) error {
	return operon.Run(ctx, "bench-external", config, operon.Config{Namespace: namespace}, operon.API(box.AddToScheme), operon.Manage(provisioned{r, poll}))
}
