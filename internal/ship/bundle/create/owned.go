package create

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// owned returns the kinds that the operator provides, with what consoles show. What the project says about a kind stays.
func (m *maker) owned(s *sorter, said any) (map[string]any, error) {
	all, ok := said.(map[string]any)
	if said != nil && !ok {
		return nil, fmt.Errorf("the ClusterServiceVersion in %s: spec.customresourcedefinitions is not an object", baseFolder)
	}
	all = maps.Clone(all)
	if all == nil {
		all = map[string]any{}
	}
	known := map[string]map[string]any{}
	entries, _ := all["owned"].([]any)
	for _, one := range entries {
		if entry, ok := one.(map[string]any); ok {
			known[fmt.Sprint(entry["name"], "/", entry["version"])] = entry
		}
	}
	resources := resourcesOf(s.permissions)
	list := []any{}
	for _, crd := range s.definitions {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			entry := describeVersion(crd, version)
			if len(resources) > 0 {
				entry["resources"] = resources
			}
			maps.Copy(entry, known[crd.Name+"/"+version.Name])
			list = append(list, entry)
		}
	}
	all["owned"] = list
	return all, nil
}

func describeVersion(crd *kube.CRD, version apiextensionsv1.CustomResourceDefinitionVersion) map[string]any {
	entry := map[string]any{
		"name": crd.Name, "version": version.Name, "kind": crd.Spec.Names.Kind, "displayName": crd.Spec.Names.Kind,
	}
	var schema apiextensionsv1.JSONSchemaProps
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		schema = *version.Schema.OpenAPIV3Schema
	}
	entry["description"] = sentence(schema.Description)
	if entry["description"] == "" {
		entry["description"] = crd.Spec.Names.Kind
	}
	for field, part := range map[string]string{"specDescriptors": "spec", "statusDescriptors": "status"} {
		if list := descriptors(schema.Properties[part], part); len(list) > 0 {
			entry[field] = list
		}
	}
	return entry
}

// sentence returns the first sentence of a description.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// descriptors describe the fields of a spec or status, for forms and pages of consoles.
func descriptors(of apiextensionsv1.JSONSchemaProps, part string) []any {
	var list []any
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		field := of.Properties[name]
		descriptor := map[string]any{"path": name, "displayName": words(name)}
		if text := sentence(field.Description); text != "" {
			descriptor["description"] = text
		}
		if widget := widget(part, name, field); widget != "" {
			descriptor["x-descriptors"] = []any{widget}
		}
		list = append(list, descriptor)
	}
	return list
}

// widget returns the descriptor of the element by which consoles show a field, or "".
func widget(part, name string, field apiextensionsv1.JSONSchemaProps) string {
	const ui = "urn:alm:descriptor:com.tectonic.ui:"
	switch {
	case part == "status" && name == "conditions":
		return "urn:alm:descriptor:io.kubernetes.conditions"
	case part == "status":
		return ""
	case name == "replicas" && field.Type == "integer":
		return ui + "podCount"
	case name == "resources" && field.Type == "object":
		return ui + "resourceRequirements"
	case field.Type == "boolean":
		return ui + "booleanSwitch"
	case field.Type == "integer" || field.Type == "number":
		return ui + "number"
	}
	return ""
}

// shown are kinds that consoles list with a custom resource, by resource.
var shown = map[schema.GroupResource]struct{ version, kind string }{
	{Resource: "configmaps"}:                                     {"v1", "ConfigMap"},
	{Resource: "persistentvolumeclaims"}:                         {"v1", "PersistentVolumeClaim"},
	{Resource: "pods"}:                                           {"v1", "Pod"},
	{Resource: "secrets"}:                                        {"v1", "Secret"},
	{Resource: "serviceaccounts"}:                                {"v1", "ServiceAccount"},
	{Resource: "services"}:                                       {"v1", "Service"},
	{Group: "apps", Resource: "daemonsets"}:                      {"v1", "DaemonSet"},
	{Group: "apps", Resource: "deployments"}:                     {"v1", "Deployment"},
	{Group: "apps", Resource: "statefulsets"}:                    {"v1", "StatefulSet"},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: {"v2", "HorizontalPodAutoscaler"},
	{Group: "batch", Resource: "cronjobs"}:                       {"v1", "CronJob"},
	{Group: "batch", Resource: "jobs"}:                           {"v1", "Job"},
	{Group: "networking.k8s.io", Resource: "ingresses"}:          {"v1", "Ingress"},
	{Group: "networking.k8s.io", Resource: "networkpolicies"}:    {"v1", "NetworkPolicy"},
	{Group: "policy", Resource: "poddisruptionbudgets"}:          {"v1", "PodDisruptionBudget"},
}

// resourcesOf returns the kinds that the operator may create.
func resourcesOf(permissions map[string]*grants) []any {
	found := map[schema.GroupResource]bool{}
	for _, g := range permissions {
		for _, rule := range slices.Concat(g.within, g.everywhere) {
			if !slices.Contains(rule.Verbs, "create") && !slices.Contains(rule.Verbs, rbacv1.VerbAll) {
				continue
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					found[schema.GroupResource{Group: group, Resource: resource}] = true
				}
			}
		}
	}
	var names []string
	kinds := map[string]any{}
	for resource := range found {
		if kind, ok := shown[resource]; ok {
			names = append(names, kind.kind)
			kinds[kind.kind] = map[string]any{"kind": kind.kind, "name": "", "version": kind.version}
		}
	}
	slices.Sort(names)
	var list []any
	for _, name := range names {
		list = append(list, kinds[name])
	}
	return list
}
