package up_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// policy returns a policy for the fixture's kind, as `operon generate` writes it.
func (f *fixture) policy(name, operations, expression string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: %[1]s.gadgets.%[2]s
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [%[2]s], apiVersions: [v1], resources: [gadgets], operations: [%[3]s]}
  validations:
  - {expression: "%[4]s", message: the policy %[1]s says no}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: %[1]s.gadgets.%[2]s
spec:
  policyName: %[1]s.gadgets.%[2]s
  validationActions: [Deny]
`, name, f.group, operations, expression)
}

const policyFile = "config/policy/policies.yaml"

// hasNoPolicy returns an error while a policy of the fixture or its binding exists in the cluster.
func (f *fixture) hasNoPolicy(ctx context.Context, t *testing.T, name string) error {
	t.Helper()
	admission, whole := f.client(t).AdmissionregistrationV1(), name+".gadgets."+f.group
	if _, err := admission.ValidatingAdmissionPolicyBindings().Get(ctx, whole, getOptions); !apierrors.IsNotFound(err) {
		return fmt.Errorf("the binding: %w", err)
	}
	if _, err := admission.ValidatingAdmissionPolicies().Get(ctx, whole, getOptions); !apierrors.IsNotFound(err) {
		return fmt.Errorf("the policy: %w", err)
	}
	return nil
}

// Requests that a policy of the project forbids are rejected, also after the policy is edited, and no longer after it is
// deleted.
func TestLoopTakesUpPolicies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(f.dir, policyFile)
	testaid.Write(t, file, f.policy("small", "CREATE, UPDATE", "object.spec.size <= 4"))
	r := f.loop(t)
	r.says(t, "1 Role and 1 admission policy", "/one: Ready: all made")
	resize := func(size int) error {
		patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
		_, err := f.gadgets(t).Patch(t.Context(), "one", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	refused := func(ctx context.Context, size int, words string) error {
		err := resize(size)
		if err == nil {
			return fmt.Errorf("%d was taken", size)
		}
		return lacks(err.Error(), words)
	}
	localtest.Eventually(t, "5 to be refused", func(ctx context.Context) error { return refused(ctx, 5, "the policy small says no") })
	if err := resize(4); err != nil {
		t.Error(err)
	}

	f.edit(t, policyFile, "object.spec.size <= 4", "object.spec.size <= 2")
	localtest.Eventually(t, "4 to be refused", func(ctx context.Context) error { return refused(ctx, 4, "the policy small says no") })

	f.edit(t, policyFile, "failurePolicy: Fail", "failurePolicy: Perhaps")
	r.says(t, "problem  "+policyFile+":6: spec.failurePolicy: Unsupported value")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the policy to be gone", func(ctx context.Context) error { return f.hasNoPolicy(ctx, t, "small") })
	localtest.Eventually(t, "9 to be taken", func(context.Context) error { return resize(9) })
}

// A policy that forbids all deletions does not block Down.
func TestDownRemovesPoliciesFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	testaid.Write(t, filepath.Join(f.dir, policyFile), f.policy("kept", "DELETE", "false"))
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	localtest.Eventually(t, "the deletion to be refused", func(ctx context.Context) error {
		err := f.gadgets(t).Delete(ctx, "one", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return fmt.Errorf("it was not")
		}
		return lacks(err.Error(), "the policy kept says no")
	})
	out, err := f.down(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := lacks(out, "removed ValidatingAdmissionPolicy kept", "removed Gadget"); err != nil {
		t.Error(err)
	}
	if err := f.hasNoPolicy(t.Context(), t, "kept"); err != nil {
		t.Error(err)
	}
}
