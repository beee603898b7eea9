package csv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/limit"
)

// reasonForbidden means that the ServiceAccount of the group may not do what the operator may do.
const reasonForbidden = "GroupServiceAccountForbidden"

// errGroupUnknown means that the namespaces of a group are not known yet.
var errGroupUnknown = errors.New("the namespaces of the OperatorGroup are not known yet")

// group returns the OperatorGroup of a ClusterServiceVersion, or why there is none that it can use.
func (c *Composer) group(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, out *operon.Composition) (render.Group, phase.Problem, error) {
	all, err := group.In(ctx, out, csv.Namespace)
	if err != nil {
		return render.Group{}, phase.Problem{}, err
	}
	switch len(all) {
	case 0:
		return render.Group{}, phase.Problem{Reason: phase.ReasonNoGroup, Message: "csv in namespace with no operatorgroups: create one in the namespace " + csv.Namespace}, nil
	case 1:
	default:
		return render.Group{}, phase.Problem{Reason: phase.ReasonTooManyGroups, Message: "csv created in namespace with multiple operatorgroups, can't pick one automatically: delete all but one of " + group.Names(all)}, nil
	}
	found := render.Group{Name: all[0].Name, Namespace: all[0].Namespace, Targets: all[0].Status.Namespaces}
	found.AnyVolumes = all[0].Annotations[render.AnnotationVolumes] == render.VolumesAny
	if len(all[0].Spec.TargetNamespaces) == 0 {
		found.Selector = all[0].Spec.Selector
	}
	if all[0].Status.ObservedGeneration != all[0].Generation {
		return found, phase.Problem{}, errGroupUnknown
	}
	if len(found.Targets) == 0 {
		return found, phase.Problem{Reason: phase.ReasonNoTargets, Message: fmt.Sprintf("operatorgroup %s selects no namespaces: label a namespace so that its spec.selector selects it", found.Name)}, nil
	}
	if found.Absent, err = group.Absent(ctx, out, &all[0]); err != nil {
		return found, phase.Problem{}, err
	}
	for _, name := range found.Absent {
		if found.Selector == nil {
			out.Warning("NamespaceNotFound", fmt.Sprintf("operatorgroup %s names the namespace %s, which does not exist or is being deleted: the operator gets no permissions there", found.Name, name))
		}
	}
	problem := render.Supports(csv.Spec.InstallModes, found)
	account := all[0].Spec.ServiceAccountName
	switch {
	case account == "" || problem.Reason != "":
	case all[0].Status.ServiceAccountRef == nil:
		problem = phase.Problem{Reason: reasonForbidden, Message: group.NoAccount(&all[0])}
	default:
		problem, err = c.limited(ctx, csv, found, client.ObjectKey{Namespace: csv.Namespace, Name: account})
	}
	return found, problem, err
}

// limited returns why an operator would get more than the ServiceAccount of its group has.
func (c *Composer) limited(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, in render.Group, account client.ObjectKey) (phase.Problem, error) {
	missing, err := limit.Grants(ctx, c.Cluster, account, slices.Concat(render.Permissions(csv, in), render.Delegations(csv, in)))
	if err != nil || len(missing) == 0 {
		return phase.Problem{}, err
	}
	return phase.Problem{Reason: reasonForbidden, Message: fmt.Sprintf("operatorgroup %s limits its operators to the permissions of the ServiceAccount %s, which may not: %s",
		in.Name, account.Name, strings.Join(missing, "; "))}, nil
}

// intersect reports whether two groups share a namespace.
func intersect(a, b []string) bool {
	if slices.Contains(a, metav1.NamespaceAll) || slices.Contains(b, metav1.NamespaceAll) {
		return len(a) > 0 && len(b) > 0
	}
	return slices.ContainsFunc(a, func(namespace string) bool { return slices.Contains(b, namespace) })
}
