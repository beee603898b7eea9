package bundle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// deploymentStrategy is the only install strategy.
const deploymentStrategy = "deployment"

var strategyRule = &check{rule.Rule{
	Name: "csv-strategy", Severity: rule.Error,
	About:  "An install strategy that is missing or unknown, or one without workloads.",
	Reason: "The operator is not installed; its CSV fails with InvalidInstallStrategy.",
	Fix:    "set spec.install.strategy to deployment, and list the operator's Deployments",
}, func(b *Bundle, found *rule.Findings) {
	install := b.CSV.Spec.Install
	if install.Strategy != deploymentStrategy {
		found.Add(b.at("spec.install.strategy"), "spec.install.strategy: want %s, got %q", deploymentStrategy, install.Strategy)
	}
	if len(install.Spec.Deployments) == 0 {
		found.Add(b.at("spec.install"), "the CSV installs no Deployment").Severity = rule.Advice
	}
}}

// deploymentPath returns the path of a Deployment in a CSV.
func deploymentPath(i int) string { return fmt.Sprintf("spec.install.spec.deployments[%d]", i) }

var deploymentsRule = &check{rule.Rule{
	Name: "csv-deployments", Severity: rule.Error,
	About:  "A Deployment whose name, selector, labels or containers API servers reject.",
	Reason: "The installation fails after its permissions and CRDs were created.",
	Fix:    "fix the Deployment in spec.install.spec.deployments",
}, func(b *Bundle, found *rule.Findings) {
	seen := map[string]bool{}
	for i, deployment := range b.CSV.Spec.Install.Spec.Deployments {
		path := deploymentPath(i)
		if problems := validation.IsDNS1123Subdomain(deployment.Name); len(problems) > 0 {
			found.Add(b.at(path+".name"), "%s.name: %q: %s", path, deployment.Name, strings.Join(problems, "; "))
		}
		if seen[deployment.Name] {
			found.Add(b.at(path+".name"), "%s.name: %s is listed twice", path, deployment.Name)
		}
		seen[deployment.Name] = true
		selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
		switch {
		case err != nil:
			found.Add(b.at(path+".spec.selector"), "%s.spec.selector: %v", path, err)
		case deployment.Spec.Selector == nil || selector.Empty():
			found.Add(b.at(path+".spec"), "%s.spec.selector is missing", path)
		case !selector.Matches(labels.Set(deployment.Spec.Template.Labels)):
			found.Add(b.at(path+".spec.selector"), "%s.spec.selector does not match the labels of the template", path)
		}
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			found.Add(b.at(path+".spec.template.spec"), "%s.spec.template.spec.containers is empty", path)
		}
		for c, container := range deployment.Spec.Template.Spec.Containers {
			if container.Image == "" {
				at := fmt.Sprintf("%s.spec.template.spec.containers[%d]", path, c)
				found.Add(b.at(at), "%s: container %s has no image", at, container.Name)
			}
		}
	}
}}

var requestsRule = &check{rule.Rule{
	Name: "csv-requests", Severity: rule.Warning,
	About:  "A container without requests for processor time and memory.",
	Reason: "The operator is the first to be evicted from a node that runs out of memory.",
	Fix:    "set resources.requests of the container",
}, func(b *Bundle, found *rule.Findings) {
	for i, deployment := range b.CSV.Spec.Install.Spec.Deployments {
		for c, container := range deployment.Spec.Template.Spec.Containers {
			for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if _, set := container.Resources.Requests[resource]; !set {
					at := fmt.Sprintf("%s.spec.template.spec.containers[%d]", deploymentPath(i), c)
					found.Add(b.at(at), "container %s of Deployment %s has no request for %s", container.Name, deployment.Name, resource)
				}
			}
		}
	}
}}

var permissionsRule = &check{rule.Rule{
	Name: "csv-permissions", Severity: rule.Warning,
	About:  "Permissions in the whole cluster that lead to all others.",
	Reason: "An attacker who takes over the operator takes over the cluster.",
	Fix:    "list the resources and verbs that the operator needs, and move them to permissions if it watches single namespaces; `operon prove --print-rbac` prints what it uses",
}, func(b *Bundle, found *rule.Findings) {
	for i, permissions := range b.CSV.Spec.Install.Spec.ClusterPermissions {
		path := fmt.Sprintf("spec.install.spec.clusterPermissions[%d]", i)
		for r, one := range permissions.Rules {
			for _, power := range rbac.Powers([]rbacv1.PolicyRule{one}) {
				at := fmt.Sprintf("%s.rules[%d]", path, r)
				found.Add(b.at(at), "ServiceAccount %s may %s", permissions.ServiceAccountName, power)
			}
		}
	}
}}

var serviceAccountRule = &check{rule.Rule{
	Name: "csv-service-account", Severity: rule.Error,
	About:  "A ServiceAccount that is missing, or that the bundle contains although the CSV creates it.",
	Reason: "The operator runs without its permissions, or the installation fails.",
	Fix:    "name the same ServiceAccount in the Deployment and in its permissions, and remove its manifest",
}, func(b *Bundle, found *rule.Findings) {
	install := b.CSV.Spec.Install.Spec
	granted := map[string]bool{}
	for _, permissions := range slices.Concat(install.Permissions, install.ClusterPermissions) {
		granted[permissions.ServiceAccountName] = true
	}
	own := map[string]bool{}
	for _, object := range b.Others {
		if object.GetKind() != "ServiceAccount" {
			continue
		}
		own[object.GetName()] = true
		if granted[object.GetName()] {
			found.Add(rule.At(object, "metadata.name"), "ServiceAccount %s is also created by the permissions of the CSV", object.GetName())
		}
	}
	used := map[string]bool{}
	for i, deployment := range install.Deployments {
		account := deployment.Spec.Template.Spec.ServiceAccountName
		used[account] = true
		if account != "" && account != "default" && !granted[account] && !own[account] {
			path := deploymentPath(i) + ".spec.template.spec.serviceAccountName"
			found.Add(b.at(path), "Deployment %s uses ServiceAccount %s, which has no permissions in the CSV and is not in the bundle", deployment.Name, account)
		}
	}
	for list, all := range map[string][]Permissions{"permissions": install.Permissions, "clusterPermissions": install.ClusterPermissions} {
		for i, permissions := range all {
			path := fmt.Sprintf("spec.install.spec.%s[%d]", list, i)
			if permissions.ServiceAccountName == "" {
				found.Add(b.at(path), "%s.serviceAccountName is missing", path)
			} else if !used[permissions.ServiceAccountName] && !(permissions.ServiceAccountName == "default" && used[""]) {
				found.Add(b.at(path), "%s: no Deployment uses ServiceAccount %s", path, permissions.ServiceAccountName).Severity = rule.Warning
			}
		}
	}
}}
