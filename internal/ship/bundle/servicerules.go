package bundle

import (
	"fmt"
	"slices"

	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var apiServicesRule = &check{rule.Rule{
	Name: "csv-api-services", Severity: rule.Error,
	About:  "An aggregated API that no Deployment serves, that is served twice, or whose group belongs to Kubernetes.",
	Reason: "The operator is never installed, or its API is not available.",
	Fix:    "name the Deployment that serves the API in deploymentName, and list each kind once",
}, func(b *Bundle, found *rule.Findings) {
	seen, servers := map[API]bool{}, map[string]string{}
	for i, api := range b.CSV.Spec.APIServices.Owned {
		path := fmt.Sprintf("spec.apiservicedefinitions.owned[%d]", i)
		for _, problem := range b.checkAPIService(api) {
			found.Add(b.at(path), "%s: %s", path, problem)
		}
		if key := (API{Group: api.Group, Version: api.Version, Kind: api.Kind}); seen[key] {
			found.Add(b.at(path), "%s: %s of %s/%s is listed twice", path, api.Kind, api.Group, api.Version)
		} else {
			seen[key] = true
		}
		service := api.Version + "." + api.Group
		if other, served := servers[service]; served && other != api.DeploymentName {
			found.Add(b.at(path), "%s: the Deployments %q and %q serve the same APIService %s", path, other, api.DeploymentName, service)
		}
		servers[service] = api.DeploymentName
	}
}}

func (b *Bundle) checkAPIService(api API) []string {
	var problems []string
	add := func(format string, values ...any) { problems = append(problems, fmt.Sprintf(format, values...)) }
	if api.Group == "" || api.Version == "" || api.Kind == "" {
		add("want group, version and kind, got %q, %q and %q", api.Group, api.Version, api.Kind)
	} else if render.Reserved(api.Group) {
		add("the API group %s belongs to Kubernetes or to the lifecycle manager", api.Group)
	}
	if !slices.ContainsFunc(b.CSV.Spec.Install.Spec.Deployments, func(d Deployment) bool { return d.Name == api.DeploymentName }) {
		add("deploymentName: the CSV has no Deployment %q", api.DeploymentName)
	}
	for _, crd := range b.CRDs {
		if crd.Typed != nil && crd.Typed.Spec.Group == api.Group && serves(crd, api.Version) {
			add("CustomResourceDefinition %s provides %s/%s, so API servers have an APIService for it already", crd.GetName(), api.Group, api.Version)
		}
	}
	return problems
}

func serves(crd *CRD, version string) bool {
	for _, one := range crd.Typed.Spec.Versions {
		if one.Name == version && one.Served {
			return true
		}
	}
	return false
}
