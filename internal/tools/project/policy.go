package project

import "slices"

// admissionGroup is the API group of admission policies.
const admissionGroup = "admissionregistration.k8s.io"

var policyKinds = []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

// PoliciesOf returns the admission policies and their bindings among the objects of a directory. It ignores other objects,
// because other tools have policies, too.
func PoliciesOf(objects []Object) []Object {
	return slices.DeleteFunc(slices.Clone(objects), func(object Object) bool {
		kind := object.GroupVersionKind()
		return kind.Group != admissionGroup || !slices.Contains(policyKinds, kind.Kind)
	})
}
