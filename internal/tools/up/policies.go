package up

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// policyResources lists the resources of admission policies, bindings first: a policy without a binding has no effect.
var policyResources = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
}

// installPolicies applies the project's admission policies, and deletes those of earlier runs that the project no longer has.
func installPolicies(ctx context.Context, in *installer, p *project.Project) error {
	wanted := map[string]bool{}
	for _, policy := range p.Policies {
		if _, err := in.apply(ctx, policy.Unstructured); err != nil {
			return placed(policy, err)
		}
		wanted[tree.Address(policy.Unstructured)] = true
	}
	none := len(wanted) == 0
	err := in.takeBack(ctx, p, wanted, policyResources...)
	if none && apierrors.IsForbidden(err) {
		return nil // a user who may not list them did not create any
	}
	return err
}

// refusedByPolicy reports whether an error is a rejection by an admission policy.
func refusedByPolicy(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

// policies returns the number of policies, without bindings.
func policies(p *project.Project) int {
	n := 0
	for _, object := range p.Policies {
		if object.GetKind() == "ValidatingAdmissionPolicy" {
			n++
		}
	}
	return n
}
