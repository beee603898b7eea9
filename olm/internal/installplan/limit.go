package installplan

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/limit"
	"github.com/operon-framework/operon/olm/internal/plan"
)

// limited refuses bundles whose objects and permissions are more than what the ServiceAccount of the OperatorGroup has. Without an OperatorGroup it
// refuses all: a limit that was removed for a moment would not hold. Nothing was written before.
func (c *Composer) limited(ctx context.Context, of *v1alpha1.InstallPlan, bundles []*contents.Objects, out *operon.Composition) error {
	groups, err := group.In(ctx, out, of.Namespace)
	if err != nil {
		return err
	}
	switch {
	case len(groups) == 0:
		return refusal{phase.ReasonNoGroup, "the namespace has no OperatorGroup: create one, which may limit the permissions of its operators"}
	case len(groups) > 1:
		return refusal{phase.ReasonTooManyGroups, fmt.Sprintf("the namespace has %d OperatorGroups: keep one", len(groups))}
	}
	if text := Reserved(groups, of); text != "" {
		return refusal{ReasonExtension, text}
	}
	for _, one := range groups {
		if one.Spec.ServiceAccountName == "" {
			continue
		}
		if one.Status.ObservedGeneration != one.Generation {
			return refusal{ReasonForbidden, fmt.Sprintf("the namespaces of the OperatorGroup %s are not known yet", one.Name)}
		}
		if one.Status.ServiceAccountRef == nil {
			return refusal{ReasonForbidden, group.NoAccount(&one)}
		}
		in := render.Group{Name: one.Name, Namespace: of.Namespace, Targets: one.Status.Namespaces}
		if in.Absent, err = group.Absent(ctx, out, &one); err != nil {
			return err
		}
		account := client.ObjectKey{Namespace: of.Namespace, Name: one.Spec.ServiceAccountName}
		missing, err := limit.Missing(ctx, c.Cluster, account, needed(of, plan.Written(bundles, in)))
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			return refusal{ReasonForbidden, fmt.Sprintf("the OperatorGroup %s limits its operators to the permissions of the ServiceAccount %s, which may not: %s",
				one.Name, account.Name, strings.Join(missing, "; "))}
		}
	}
	return nil
}

// needed returns the objects that a ServiceAccount has to be allowed to write. A ClusterServiceVersion is not one of them if it only exists
// for a ClusterExtension.
func needed(of *v1alpha1.InstallPlan, all []client.Object) []client.Object {
	if extensionOf(of) == nil {
		return all
	}
	return plan.WithoutVersions(all)
}
