package up

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// policyResources are those of admission policies, bindings first: a policy without one does nothing.
var policyResources = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
}

// installPolicies applies the project's admission policies, and takes back those of earlier runs that it does not
// have any more.
func installPolicies(ctx context.Context, in *installer, p *project.Project) error {
	wanted := map[string]bool{}
	for _, policy := range p.Policies {
		if _, err := in.apply(ctx, policy.Unstructured); err != nil {
			return placed(policy, err)
		}
		wanted[tree.Address(policy.Unstructured)] = true
	}
	err := in.takeBack(ctx, wanted, policyResources...)
	if len(wanted) == 0 && apierrors.IsForbidden(err) {
		return nil // a user who may not list them made none
	}
	return err
}

// refusedByPolicy tells errors of admission policies.
func refusedByPolicy(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

// policies are how many policies there are, bindings not counted.
func policies(p *project.Project) int {
	n := 0
	for _, object := range p.Policies {
		if object.GetKind() == "ValidatingAdmissionPolicy" {
			n++
		}
	}
	return n
}
