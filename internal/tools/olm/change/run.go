package change

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
)

// run adds the objects with which `operon bundle run` installed the operator. An OperatorGroup that other operators use stays.
func (r *Removal) run(ctx context.Context, client *kube.Client, state *olm.State) error {
	of := state.Subscription(r.Namespace, r.Name)
	if of == nil || of.Labels[LabelRun] == "" {
		return nil
	}
	shared := slices.ContainsFunc(state.Versions, func(version olm.Version) bool {
		return !slices.ContainsFunc(r.versions, func(gone *unstructured.Unstructured) bool { return gone.GetUID() == version.UID })
	})
	for _, kind := range []schema.GroupVersionResource{
		olm.Catalogs, {Version: "v1", Resource: "configmaps"}, olm.Groups,
	} {
		found, err := client.List(ctx, kind, r.Namespace, LabelRun+"="+of.Labels[LabelRun])
		if err != nil {
			return err
		}
		for _, one := range found {
			if kind == olm.Groups && shared {
				r.Kept = append(r.Kept, fmt.Sprintf("OperatorGroup %s/%s, because other operators use it", r.Namespace, one.GetName()))
				continue
			}
			r.catalogs = append(r.catalogs, one)
		}
	}
	return nil
}
