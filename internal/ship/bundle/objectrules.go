package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Installs reports whether the Operator Lifecycle Manager installs objects of a kind from a bundle.
func Installs(kind string) bool {
	return slices.Contains(contents.Kinds(), kind) || kind == "CustomResourceDefinition"
}

var objectsRule = &check{rule.Rule{
	Name: "bundle-objects", Severity: rule.Error,
	About:  "An object that the Operator Lifecycle Manager does not install, or that is in the bundle twice.",
	Reason: "The bundle is rejected, or one of the two objects is lost.",
	Fix:    "let the operator create the object, or keep one of the two",
}, func(b *Bundle, found *rule.Findings) {
	first := map[string]string{}
	for _, crd := range b.CRDs {
		once(crd.Object.GetKind()+" "+crd.GetName(), crd.Object.Place(), first, func(before string) {
			found.Add(rule.At(crd.Object, "metadata.name"), "CustomResourceDefinition %s is also in %s", crd.GetName(), before)
		})
	}
	for _, object := range b.Others {
		if !slices.Contains(contents.Kinds(), object.GetKind()) {
			found.Add(rule.At(object, "kind"), "a bundle cannot contain a %s; it can contain %s", object.GetKind(), strings.Join(contents.Kinds(), ", "))
			continue
		}
		once(object.GetKind()+" "+object.GetName(), object.Place(), first, func(before string) {
			found.Add(rule.At(object, "metadata.name"), "%s %s is also in %s", object.GetKind(), object.GetName(), before)
		})
		switch _, change, err := contents.Current(object.Unstructured); {
		case err != nil:
			found.Add(rule.At(object, ""), "%v", err)
		case change != "" && contents.Converts(object.GroupVersionKind()) == "": // otherwise another rule has a finding
			found.Add(rule.At(object, ""), "%s", change).Severity = rule.Warning
		}
	}
}}

// once calls again with the place of the first object if another one has the same key.
func once(key, place string, first map[string]string, again func(before string)) {
	if before, twice := first[key]; twice {
		again(before)
		return
	}
	first[key] = place
}

var generatedRule = &check{rule.Rule{
	Name: "generated-names", Severity: rule.Error,
	About:  "An object with the name of one that the Operator Lifecycle Manager makes for the CSV.",
	Reason: "One of the two objects overwrites the other.",
	Fix:    "rename the object or the Deployment",
}, func(b *Bundle, found *rule.Findings) {
	made, services := map[string]string{}, map[string]string{}
	servers := b.servers()
	for _, i := range slices.Sorted(maps.Keys(servers)) {
		name := servers[i]
		service := render.ServiceName(name)
		if other, twice := services[service]; twice && other != name {
			found.Add(b.at(deploymentPath(i)+".name"), "the Deployments %s and %s would have the same Service %s", other, name, service)
		}
		services[service] = name
		made["Service "+service] = "the Service of Deployment " + name
		made["Secret "+service+render.SecretSuffix] = "the certificate of Deployment " + name
	}
	for _, kind := range []string{"Role", "RoleBinding"} {
		made[kind+" "+b.CSV.Name] = "the permission to write the OperatorCondition"
	}
	for _, object := range b.Others {
		if what := made[object.GetKind()+" "+object.GetName()]; what != "" {
			found.Add(rule.At(object, "metadata.name"), "%s %s has the name of %s", object.GetKind(), object.GetName(), what)
		}
	}
}}

// servers returns the names of the Deployments that serve webhooks or API services, by their index.
func (b *Bundle) servers() map[int]string {
	spec, serving := &b.CSV.Spec, map[string]bool{}
	for _, webhook := range spec.Webhooks {
		serving[webhook.DeploymentName] = true
	}
	for _, api := range spec.APIServices.Owned {
		serving[api.DeploymentName] = true
	}
	all := map[int]string{}
	for i, deployment := range spec.Install.Spec.Deployments {
		if serving[deployment.Name] {
			all[i] = deployment.Name
		}
	}
	return all
}

// removed are API versions that API servers no longer serve, with the version of Kubernetes that removed them.
var removed = map[string]string{
	"admissionregistration.k8s.io/v1beta1": "1.22", "apiextensions.k8s.io/v1beta1": "1.22", "apiregistration.k8s.io/v1beta1": "1.22",
	"authentication.k8s.io/v1beta1": "1.22", "authorization.k8s.io/v1beta1": "1.22", "autoscaling/v2beta1": "1.25", "autoscaling/v2beta2": "1.26",
	"batch/v1beta1": "1.25", "certificates.k8s.io/v1beta1": "1.22", "coordination.k8s.io/v1beta1": "1.22", "discovery.k8s.io/v1beta1": "1.25",
	"events.k8s.io/v1beta1": "1.25", "extensions/v1beta1": "1.22", "networking.k8s.io/v1beta1": "1.22", "node.k8s.io/v1beta1": "1.25",
	"policy/v1beta1": "1.25", "rbac.authorization.k8s.io/v1beta1": "1.22", "scheduling.k8s.io/v1beta1": "1.22", "storage.k8s.io/v1beta1": "1.27",
}

// removedResources are resources that Kubernetes removed in all versions, by group and resource. The resource * stands for the whole group.
var removedResources = map[string]string{
	"extensions/*": "1.22", "policy/podsecuritypolicies": "1.25", "settings.k8s.io/*": "1.20", "auditregistration.k8s.io/*": "1.19",
	"admissionregistration.k8s.io/initializerconfigurations": "1.14",
}

var removedAPIRule = &check{rule.Rule{
	Name: "removed-api", Severity: rule.Error,
	About:  "An API that Kubernetes removed: of an object, in `nativeAPIs`, or in permissions.",
	Reason: "The bundle cannot be installed on clusters since that version, or the operator asks for what does not exist.",
	Fix:    "use the stable version of the API",
}, func(b *Bundle, found *rule.Findings) {
	for _, object := range b.Others {
		if since, gone := removed[object.GetAPIVersion()]; gone && contents.Converts(object.GroupVersionKind()) == "" {
			found.Add(rule.At(object, "apiVersion"), "%s %s: Kubernetes %s removed %s", object.GetKind(), object.GetName(), since, object.GetAPIVersion())
		}
	}
	for i, api := range b.CSV.Spec.NativeAPIs {
		if since, gone := removed[api.Group+"/"+api.Version]; gone {
			path := fmt.Sprintf("spec.nativeAPIs[%d]", i)
			found.Add(b.at(path), "%s: Kubernetes %s removed %s/%s, so the requirement is never met", path, since, api.Group, api.Version)
		}
	}
	install := b.CSV.Spec.Install.Spec
	checkRemoved(b, "permissions", install.Permissions, found)
	checkRemoved(b, "clusterPermissions", install.ClusterPermissions, found)
}}

// checkRemoved warns about rules of permissions for what Kubernetes removed. They do no harm, but the operator may depend on it.
func checkRemoved(b *Bundle, list string, all []Permissions, found *rule.Findings) {
	for i, one := range all {
		for r, granted := range one.Rules {
			path := fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", list, i, r)
			for _, gone := range removedIn(granted) {
				found.Add(b.at(path), "%s: %s", path, gone).Severity = rule.Warning
			}
		}
	}
}

func removedIn(granted rbacv1.PolicyRule) []string {
	var all []string
	for _, group := range granted.APIGroups {
		if since, gone := removedResources[group+"/*"]; gone {
			all = append(all, fmt.Sprintf("Kubernetes %s removed the API group %s", since, group))
			continue
		}
		for _, resource := range granted.Resources {
			if since, gone := removedResources[group+"/"+resource]; gone {
				all = append(all, fmt.Sprintf("Kubernetes %s removed the resource %s of %s", since, resource, group))
			}
		}
	}
	return all
}

var convertedRule = &check{rule.Rule{
	Name: "converted-api", Severity: rule.Error,
	About:  "An object in an API version that Kubernetes removed, and that has the same fields in the current version.",
	Reason: "Operon's lifecycle manager converts it. Other tools do not install it on clusters since that version.",
	Fix:    "use the current version, or let `operon bundle convert` write it",
}, func(b *Bundle, found *rule.Findings) {
	for _, object := range b.Others {
		if contents.Converts(object.GroupVersionKind()) == "" {
			continue
		}
		if _, change, err := contents.Current(object.Unstructured); err == nil { // otherwise another rule has a finding
			found.Add(rule.At(object, "apiVersion"), "%s", change)
		}
	}
}}
