package csv

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
)

// config returns the changes that the Subscription of the version makes to its Deployments, or nil. Without a Subscription, the last ones stay.
func (n *neighbors) config(ctx context.Context, out *operon.Composition) (*v1alpha1.SubscriptionConfig, error) {
	of, err := n.subscription(ctx, out)
	if err != nil {
		return nil, err
	}
	if of != nil {
		return of.Spec.Config, nil
	}
	if n.csv.Status.Config == nil {
		return nil, nil
	}
	last := &v1alpha1.SubscriptionConfig{}
	if err := json.Unmarshal(n.csv.Status.Config.Raw, last); err != nil {
		return nil, fmt.Errorf("status.config of %s: %w", n.csv.Name, err)
	}
	return last, nil
}

// subscription returns the Subscription of the version, or nil if there is none. While another version takes over, its Subscription still
// counts.
func (n *neighbors) subscription(ctx context.Context, out *operon.Composition) (*v1alpha1.Subscription, error) {
	var list v1alpha1.SubscriptionList
	if err := out.List(ctx, &list, nil, client.InNamespace(n.csv.Namespace), operon.Everything, operon.SharedCache); err != nil {
		return nil, err
	}
	names := map[string]bool{n.csv.Name: true}
	if n.after != nil {
		names[n.after.Name] = true
	}
	if n.before != nil && phase.RolledBack(n.before) {
		names[n.before.Name] = true
	}
	for i := range list.Items {
		one := &list.Items[i]
		if one.DeletionTimestamp == nil && (names[one.Status.CurrentCSV] || names[one.Status.InstalledCSV]) {
			return one, nil
		}
	}
	return nil, nil
}

// recorded returns the changes as the status has them.
func recorded(config *v1alpha1.SubscriptionConfig) (*apiextensionsv1.JSON, error) {
	if config == nil {
		return nil, nil
	}
	content, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the changes of the Subscription: %w", err)
	}
	return &apiextensionsv1.JSON{Raw: content}, nil
}
