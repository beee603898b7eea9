package main

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
)

// Upgrade adopts pages that users added manually to the ConfigMap of a site, which was the way to add pages before version 2.
// Since then, a site can be recreated from its spec. A second call changes nothing more. It is called only for the sites of an
// older operator, before Compose.
func (Site) Upgrade(ctx context.Context, s *v1.Site, from *operon.UpgradeContext) error {
	if !from.Before("2.0.0") {
		return nil
	}
	there := &corev1.ConfigMap{}
	if err := from.Client.Get(ctx, client.ObjectKeyFromObject(s), there); err != nil {
		return client.IgnoreNotFound(err)
	}
	all := maps.Clone(there.Data)
	delete(all, frontPage) // it is generated from the title
	maps.Copy(all, s.Spec.Pages)
	if maps.Equal(all, s.Spec.Pages) {
		return nil
	}
	before := s.DeepCopy()
	s.Spec.Pages = all
	if err := from.Client.Patch(ctx, s, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("take over the pages of ConfigMap %s: %w", there.Name, err)
	}
	return nil
}
