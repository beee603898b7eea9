package main

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/condition"
)

// composed is the same operator with Operon.
type composed struct{}

// Compose implements operon.Composer.
func (composed) Compose(_ context.Context, site *Site, out *operon.Composition) error {
	out.Child(configMapOf(site))
	out.Child(serviceOf(site))
	out.Child(deploymentOf(site))
	return nil
}

func runComposed(ctx context.Context, config *rest.Config, s settings) error {
	manages := operon.Manage(composed{}, operon.Concurrency(s.workers))
	if s.light {
		manages = operon.Manage(light{}, operon.Concurrency(s.workers))
	}
	return operon.Run(ctx, operatorAgent, config, operon.Config{}, operon.API(addToScheme), manages)
}

// composedReady is the condition that Operon writes.
const composedReady = condition.Ready
