package bundle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var missingPermissionsRule = &check{rule.Rule{
	Name: "csv-missing-permissions", Severity: rule.Warning,
	About:  "A permission that the operator needs for its own kinds or for the arguments of its containers, and that nothing in the bundle grants.",
	Reason: "The API server refuses the operator's requests; it starts and does nothing, or does not start.",
	Fix:    "add the permission to spec.install.spec.permissions, or to clusterPermissions if it applies to the whole cluster",
}, func(b *Bundle, found *rule.Findings) {
	rules, complete := b.granted()
	if !complete || len(b.CSV.Spec.Install.Spec.Deployments) == 0 {
		return
	}
	for i, api := range b.CSV.Spec.CRDs.Owned {
		crd := b.definition(api.Name)
		twice := slices.ContainsFunc(b.CSV.Spec.CRDs.Owned[:i], func(before API) bool { return before.Name == api.Name })
		if crd == nil || crd.Typed == nil || twice {
			continue
		}
		path := fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", i)
		for _, lack := range lacks(rules, crd.Typed) {
			found.Add(b.at(path), "%s", lack.text).Severity = lack.severity
		}
	}
	for i, deployment := range b.CSV.Spec.Install.Spec.Deployments {
		for c, container := range deployment.Spec.Template.Spec.Containers {
			path := fmt.Sprintf("%s.spec.template.spec.containers[%d]", deploymentPath(i), c)
			if text := lacksForContainer(rules, &container); text != "" {
				found.Add(b.at(path), "container %s of Deployment %s %s", container.Name, deployment.Name, text)
			}
		}
	}
}}

// granted returns the rules of all permissions in the bundle, whichever ServiceAccount has them. It is not complete if the bundle binds a Role
// that is defined elsewhere.
func (b *Bundle) granted() (rules []rbacv1.PolicyRule, complete bool) {
	install := b.CSV.Spec.Install.Spec
	for _, one := range slices.Concat(install.Permissions, install.ClusterPermissions) {
		rules = append(rules, one.Rules...)
	}
	defined, bound := map[string]bool{}, []string(nil)
	for _, object := range b.Others {
		var read struct {
			Rules   []rbacv1.PolicyRule `json:"rules"`
			RoleRef rbacv1.RoleRef      `json:"roleRef"`
		}
		if object.GroupVersionKind().Group != rbacv1.GroupName || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read) != nil {
			continue // fields with other types are a finding of another rule
		}
		defined[object.GetKind()+" "+object.GetName()] = true
		rules = append(rules, read.Rules...)
		if read.RoleRef.Name == authDelegator {
			rules = append(rules, reviews...)
		} else if read.RoleRef.Name != "" {
			bound = append(bound, read.RoleRef.Kind+" "+read.RoleRef.Name)
		}
	}
	return rules, !slices.ContainsFunc(bound, func(role string) bool { return !defined[role] })
}

// authDelegator is the ClusterRole of Kubernetes for servers that let the API server check who calls them.
const authDelegator = "system:auth-delegator"

// reviews are the permissions of authDelegator.
var reviews = []rbacv1.PolicyRule{
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
}

// allows reports whether rules grant a verb on a resource, even if only on objects with some names.
func allows(rules []rbacv1.PolicyRule, verb, group, resource string) bool {
	unnamed := make([]rbacv1.PolicyRule, len(rules))
	for i, one := range rules {
		unnamed[i], unnamed[i].ResourceNames = one, nil
	}
	wanted := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
	covered, _ := validation.Covers(unnamed, []rbacv1.PolicyRule{wanted})
	return covered
}

// lack is something that is missing, for example a permission.
type lack struct {
	text     string
	severity rule.Severity
}

// lacks returns what is missing for the objects of a definition that the operator owns.
func lacks(rules []rbacv1.PolicyRule, crd *apiextensionsv1.CustomResourceDefinition) []lack {
	group, resource := crd.Spec.Group, crd.Spec.Names.Plural
	may := func(verb, sub string) bool { return allows(rules, verb, group, resource+sub) }
	var all []lack
	add := func(severity rule.Severity, format string, values ...any) {
		all = append(all, lack{fmt.Sprintf(format, values...), severity})
	}
	switch lists, watches := may("list", ""), may("watch", ""); {
	case lists && !watches:
		add(rule.Warning, "the operator may list %s, but not watch them", crd.Name)
	case watches && !lists:
		add(rule.Warning, "the operator may watch %s, but not list them, which each watch begins with", crd.Name)
	case !lists && !may("get", ""):
		add(rule.Warning, "the operator may not get, list or watch %s, which it owns", crd.Name)
		return all
	}
	if hasStatus(crd) && (may("update", "") || may("patch", "")) && !may("update", "/status") && !may("patch", "/status") {
		add(rule.Advice, "the operator may change %s, but not their status, which is a subresource: %s/status", crd.Name, resource)
	}
	return all
}

func hasStatus(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Subresources != nil && v.Subresources.Status != nil
	})
}

// lacksForContainer describes a permission that the arguments or the image of a container need, or returns "".
func lacksForContainer(rules []rbacv1.PolicyRule, container *corev1.Container) string {
	may := func(group, resource string) bool { return allows(rules, "create", group, resource) }
	if flag := electionFlag(container); flag != "" && !may("coordination.k8s.io", "leases") && !may("", "configmaps") && !may("", "endpoints") {
		return fmt.Sprintf("has the argument %s, and the operator may not create leases.coordination.k8s.io", flag)
	}
	if strings.Contains(container.Image, "kube-rbac-proxy") {
		for _, review := range reviews {
			if !may(review.APIGroups[0], review.Resources[0]) {
				return fmt.Sprintf("checks requests for metrics, and may not create %s.%s", review.Resources[0], review.APIGroups[0])
			}
		}
	}
	return ""
}

// electionFlag returns the argument that turns on leader election in programs of controller-runtime, or "".
func electionFlag(container *corev1.Container) string {
	for _, arg := range slices.Concat(container.Command, container.Args) {
		switch name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "="); {
		case !strings.HasPrefix(arg, "-") || value == "false":
		case name == "leader-elect", name == "enable-leader-election", name == "leader-election":
			return arg
		}
	}
	return ""
}
