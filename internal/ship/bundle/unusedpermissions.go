package bundle

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var unusedPermissionsRule = &check{rule.Rule{
	Name: "csv-unused-permissions", Severity: rule.Warning,
	About:  "A permission that has no effect: on a resource that does not exist, or on a cluster-scoped resource in `permissions`.",
	Reason: "The API server refuses the request that the permission was meant for.",
	Fix:    "correct the name of the resource, which is the plural in lower case, or remove the permission",
}, func(b *Bundle, found *rule.Findings) {
	known := b.resources()
	install := b.CSV.Spec.Install.Spec
	for list, all := range map[string][]Permissions{"permissions": install.Permissions, "clusterPermissions": install.ClusterPermissions} {
		for i, one := range all {
			for r, granted := range one.Rules {
				path := fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", list, i, r)
				if !requested(granted) {
					continue
				}
				for _, one := range known.missing(granted) {
					found.Add(b.at(path), "%s: %s", path, one.text).Severity = one.severity
				}
				if resource := known.clusterScoped(granted); list == "permissions" && resource != "" && b.inNamespaces() {
					found.Add(b.at(path), "%s: %s is cluster-scoped, so the permission has an effect only if the operator is installed for all namespaces: use clusterPermissions", path, resource)
				}
			}
		}
	}
}}

// requested reports whether a rule grants a verb that requests have. Others, such as impersonate and use, are for names that are not resources.
func requested(granted rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(granted.Verbs, func(verb string) bool {
		return slices.Contains([]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, verb)
	})
}

// inNamespaces reports whether the operator can be installed for single namespaces.
func (b *Bundle) inNamespaces() bool {
	spec := &b.CSV.Spec
	return spec.Supports(OwnNamespace) || spec.Supports(SingleNamespace) || spec.Supports(MultiNamespace)
}

// resources are the known resources, by group. A group that is missing has resources that are not known.
type resources map[string]map[string]*apiextensionsv1.CustomResourceDefinition

// resources returns the resources of Kubernetes, and those of groups to which a definition of the bundle belongs.
func (b *Bundle) resources() resources {
	all := resources{}
	for group, names := range builtInResources() {
		all[group] = names
	}
	for _, crd := range b.CRDs {
		if crd.Typed == nil || builtInResources()[crd.Typed.Spec.Group] != nil {
			continue
		}
		all.add(crd.Typed.Spec.Group, crd.Typed.Spec.Names.Plural, crd.Typed)
	}
	for _, api := range b.CSV.Spec.CRDs.Required {
		if plural, group, _ := strings.Cut(api.Name, "."); all[group] != nil && builtInResources()[group] == nil {
			all.add(group, plural, nil)
		}
	}
	for _, api := range slices.Concat(b.CSV.Spec.APIServices.Owned, b.CSV.Spec.APIServices.Required) {
		delete(all, api.Group) // the kinds of an aggregated API are not listed completely
	}
	return all
}

func (r resources) add(group, plural string, crd *apiextensionsv1.CustomResourceDefinition) {
	if r[group] == nil {
		r[group] = map[string]*apiextensionsv1.CustomResourceDefinition{}
	}
	r[group][plural] = crd
}

// builtInResources returns the resources of the API groups of Kubernetes.
var builtInResources = sync.OnceValue(func() resources {
	all := resources{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal {
			plural, _ := meta.UnsafeGuessKindToResource(kind)
			all.add(kind.Group, plural.Resource, nil)
		}
	}
	return all
})

// missing describes the resources of a rule that do not exist. Those in a group of the operator are only advice: another operator may define
// more of them.
func (r resources) missing(granted rbacv1.PolicyRule) []lack {
	var all []lack
	add := func(severity rule.Severity, format string, values ...any) {
		all = append(all, lack{fmt.Sprintf(format, values...), severity})
	}
	for _, named := range granted.Resources {
		resource, sub, _ := strings.Cut(named, "/")
		if resource == "*" || slices.ContainsFunc(granted.APIGroups, func(group string) bool { return !r.lacks(group, resource) }) {
			if text := r.subresource(granted.APIGroups, resource, sub); text != "" {
				add(rule.Advice, "%s", text)
			}
			continue
		}
		switch group := strings.Join(granted.APIGroups, ", "); {
		case len(granted.APIGroups) == 0:
		case slices.ContainsFunc(granted.APIGroups, func(group string) bool { return builtInResources()[group] == nil }):
			add(rule.Advice, "no CustomResourceDefinition of the bundle and no required one defines the resource %s in %s", resource, group)
		default:
			add(rule.Warning, "Kubernetes has no resource %s in %s", resource, groupName(granted.APIGroups))
		}
	}
	return all
}

func groupName(groups []string) string {
	if slices.Equal(groups, []string{""}) {
		return "the core group"
	}
	return strings.Join(groups, ", ")
}

// lacks reports whether a resource is known not to exist. Resources that existed are the subject of another rule.
func (r resources) lacks(group, resource string) bool {
	_, exists := r[group][resource]
	_, gone := removedResources[group+"/"+resource]
	_, allGone := removedResources[group+"/*"]
	return r[group] != nil && !exists && !gone && !allGone
}

// subresource describes a subresource that a definition of the bundle does not have, or returns "".
func (r resources) subresource(groups []string, resource, sub string) string {
	if len(groups) != 1 || r[groups[0]][resource] == nil || sub == "" || sub == "*" || sub == "finalizers" {
		return "" // finalizers is a subresource for permissions only
	}
	crd := r[groups[0]][resource]
	for _, version := range crd.Spec.Versions {
		if has := version.Subresources; has != nil && (sub == "status" && has.Status != nil || sub == "scale" && has.Scale != nil) {
			return ""
		}
	}
	return fmt.Sprintf("%s has no subresource %s", crd.Name, sub)
}

// clusterScopedResources are resources of Kubernetes without a namespace. It lacks namespaces, which a Role can allow to get.
var clusterScopedResources = map[string][]string{
	"":                             {"nodes", "persistentvolumes"},
	rbacv1.GroupName:               {"clusterroles", "clusterrolebindings"},
	"admissionregistration.k8s.io": {"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings"},
	"apiextensions.k8s.io":         {"customresourcedefinitions"},
	"apiregistration.k8s.io":       {"apiservices"},
	"authentication.k8s.io":        {"tokenreviews"},
	"authorization.k8s.io":         {"subjectaccessreviews"},
	"certificates.k8s.io":          {"certificatesigningrequests"},
	"networking.k8s.io":            {"ingressclasses"},
	"node.k8s.io":                  {"runtimeclasses"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"storage.k8s.io":               {"csidrivers", "csinodes", "storageclasses", "volumeattachments"},
}

// clusterScoped returns a resource of a rule that is cluster-scoped, or "".
func (r resources) clusterScoped(granted rbacv1.PolicyRule) string {
	for _, group := range granted.APIGroups {
		for _, named := range granted.Resources {
			resource, _, _ := strings.Cut(named, "/")
			crd := r[group][resource]
			if slices.Contains(clusterScopedResources[group], resource) || crd != nil && crd.Spec.Scope == apiextensionsv1.ClusterScoped {
				return resource
			}
		}
	}
	return ""
}
