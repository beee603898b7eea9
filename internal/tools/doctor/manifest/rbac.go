package manifest

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// permission is one rule of a Role for the operator.
type permission struct {
	rbacv1.PolicyRule
	grant project.Grant
	path  string
}

// permissions visits each permission of the operator once.
func permissions(s *rule.Subject, visit func(*permission)) {
	seen := map[string]bool{}
	for _, grant := range s.Grants {
		if grant.Role.Unstructured == nil || seen[grant.Role.Place()] {
			continue
		}
		seen[grant.Role.Place()] = true
		role, err := grant.ReadRole()
		if err != nil {
			continue // the API server rejects it
		}
		for i, one := range role.Rules {
			visit(&permission{PolicyRule: one, grant: grant, path: fmt.Sprintf("rules[%d]", i)})
		}
	}
}

// at returns the place of a permission: a marker that grants the offending part of it, if there is one, or else a path below it
// in the Role.
func (p *permission) at(s *rule.Subject, below string, offending rbac.Rule) (at rule.Place, also []rule.Place) {
	manifest := rule.At(p.grant.Role, p.path+below)
	also = []rule.Place{rule.At(p.grant.Role, p.path), rule.At(p.grant.Role, "")}
	grants := func(m rbac.Rule) bool {
		return p.overlaps(m) && within(offending.Groups, m.Groups) && within(offending.Resources, m.Resources) && within(offending.Verbs, m.Verbs) &&
			within(offending.URLs, m.URLs)
	}
	if marker, ok := s.Code.Marker(grants); ok {
		return marker, append(also, manifest)
	}
	return manifest, also
}

// overlaps reports whether a marker grants a part of the permission.
func (p *permission) overlaps(m rbac.Rule) bool {
	if p.grant.Role.GetKind() == "ClusterRole" && m.Namespace != "" || !sameNames(p.ResourceNames, m.ResourceNames) {
		return false
	}
	if len(p.NonResourceURLs) > 0 {
		return overlap(p.NonResourceURLs, m.URLs) && overlap(p.Verbs, m.Verbs)
	}
	return overlap(p.APIGroups, m.Groups) && overlap(p.Resources, m.Resources) && overlap(p.Verbs, m.Verbs)
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// within reports whether a marker has one of the offending values, if there are any.
func within(offending, values []string) bool {
	return len(offending) == 0 || overlap(offending, values)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

// has reports whether a list contains one of some values, or *.
func has(list []string, some ...string) bool {
	return slices.Contains(list, rbacv1.VerbAll) || overlap(list, some)
}

func add(s *rule.Subject, found *rule.Findings, p *permission, below string, offending rbac.Rule, format string, values ...any) {
	at, also := p.at(s, below, offending)
	found.Add(at, format, values...).Also = also
}

var rbacWildcard = &rule.Rule{
	Name: "rbac-wildcard", Severity: rule.Error,
	About:  "A Role that grants every verb, resource or API group with *.",
	Reason: "An attacker who takes over the operator gets all of it, including kinds that are installed later, and administrators cannot tell what the operator needs.",
	Fix:    "list what the operator uses; `operon prove --print-rbac` prints the least-privilege Role",
	Check: func(s *rule.Subject, found *rule.Findings) {
		all := []string{rbacv1.VerbAll}
		permissions(s, func(p *permission) {
			for _, part := range []struct {
				path, words string
				list        []string
				offending   rbac.Rule
			}{
				{".apiGroups", "API groups", p.APIGroups, rbac.Rule{Groups: all}}, {".resources", "resources", p.Resources, rbac.Rule{Resources: all}},
				{".verbs", "verbs", p.Verbs, rbac.Rule{Verbs: all}}, {".nonResourceURLs", "URLs", p.NonResourceURLs, rbac.Rule{URLs: all}},
			} {
				if i := slices.Index(part.list, "*"); i >= 0 {
					add(s, found, p, fmt.Sprintf("%s[%d]", part.path, i), part.offending, "%s %s grants all %s", p.grant.Kind, p.grant.Name, part.words)
				}
			}
		})
	},
}

var rbacSecrets = &rule.Rule{
	Name: "rbac-secrets", Severity: rule.Warning,
	About:  "Permission to read the Secrets of all namespaces.",
	Reason: "An attacker who takes over the operator gets all credentials in the cluster, including those of its administrators.",
	Fix:    "grant a Role in each namespace that the operator serves, or use resourceNames; if users may reference any Secret, ignore the finding in a comment that explains why",
	Check: func(s *rule.Subject, found *rule.Findings) {
		permissions(s, func(p *permission) {
			if p.grant.Scope != rule.ClusterScope || !slices.Contains(p.Resources, "secrets") || !has(p.APIGroups, "") || len(p.ResourceNames) > 0 {
				return
			}
			if has(p.Verbs, "get", "list", "watch") {
				offending := rbac.Rule{Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "*"}}
				at, also := p.at(s, fmt.Sprintf(".resources[%d]", slices.Index(p.Resources, "secrets")), offending)
				if use := s.Code.FirstUse("k8s.io/api/core/v1", "Secret", "SecretList"); s.Framework == project.Operon && len(use) > 0 {
					at, also = use[0], append(use[1:], append(also, at)...) // the Role is generated from the code
				}
				found.Add(at, "%s %s may read every Secret of the cluster", p.grant.Kind, p.grant.Name).Also = also
			}
		})
	},
}

var rbacEscalate = &rule.Rule{
	Name: "rbac-escalate", Severity: rule.Error,
	About:  "The verbs escalate, bind and impersonate, and tokens for other ServiceAccounts: permissions that lead to all other permissions.",
	Reason: "Each of them makes the operator a cluster administrator, whatever else its Role says.",
	Fix:    "remove the verb: an operator that creates Roles can have the permissions in these Roles instead of escalate; use resourceNames to bind only certain Roles",
	Check: func(s *rule.Subject, found *rule.Findings) {
		permissions(s, func(p *permission) {
			for i, verb := range p.Verbs {
				if slices.Contains([]string{"escalate", "bind", "impersonate"}, verb) && (verb == "escalate" || len(p.ResourceNames) == 0) {
					add(s, found, p, fmt.Sprintf(".verbs[%d]", i), rbac.Rule{Verbs: []string{verb}}, "%s %s grants %s", p.grant.Kind, p.grant.Name, verb)
				}
			}
			if i := slices.Index(p.Resources, "serviceaccounts/token"); i >= 0 && has(p.Verbs, "create") && len(p.ResourceNames) == 0 {
				add(s, found, p, fmt.Sprintf(".resources[%d]", i), rbac.Rule{Resources: []string{"serviceaccounts/token"}}, "%s %s grants tokens for every ServiceAccount", p.grant.Kind, p.grant.Name)
			}
		})
	},
}

var rbacExec = &rule.Rule{
	Name: "rbac-exec", Severity: rule.Warning,
	About:  "Permission to run commands in pods, or to connect to pods and nodes through the API server.",
	Reason: "An attacker who takes over the operator gets into every container that it can reach, with everything that is mounted there.",
	Fix:    "have a program in the pod or a Job do the work; otherwise grant the permission in a Role of one namespace",
	Check: func(s *rule.Subject, found *rule.Findings) {
		permissions(s, func(p *permission) {
			for i, resource := range p.Resources {
				if slices.Contains([]string{"pods/exec", "pods/attach", "pods/portforward", "nodes/proxy", "pods/ephemeralcontainers"}, resource) && p.grant.Scope == rule.ClusterScope {
					add(s, found, p, fmt.Sprintf(".resources[%d]", i), rbac.Rule{Resources: []string{resource}}, "%s %s grants %s in all namespaces", p.grant.Kind, p.grant.Name, resource)
				}
			}
		})
	},
}

// needless lists resources that libraries use although the operator's code does not name them.
var needless = map[string]bool{
	"events": true, "leases": true, "tokenreviews": true, "subjectaccessreviews": true, "configmaps": true, "namespaces": true,
	"customresourcedefinitions": true, "mutatingwebhookconfigurations": true, "validatingwebhookconfigurations": true,
	"validatingadmissionpolicies": true, "validatingadmissionpolicybindings": true, "secrets": true,
}

var rbacUnused = &rule.Rule{
	Name: "rbac-unused", Severity: rule.Warning,
	About:  "A permission for a built-in kind that the code never uses.",
	Reason: "It helps only attackers, and administrators will question it.",
	Fix:    "remove it; `operon prove --print-rbac` prints the least-privilege Role",
	Check: func(s *rule.Subject, found *rule.Findings) {
		if len(s.Code.Functions) == 0 {
			return
		}
		named := namesIn(s.Code)
		if named == nil {
			return
		}
		permissions(s, func(p *permission) {
			for i, resource := range p.Resources {
				plural, _, _ := strings.Cut(resource, "/")
				kind, builtin := kinds[plural]
				if !builtin || needless[plural] || !builtinGroup(p.APIGroups) || named[kind] || named[plural] || named[strings.ToLower(kind)] {
					continue
				}
				add(s, found, p, fmt.Sprintf(".resources[%d]", i), rbac.Rule{Resources: []string{resource}}, "%s %s grants %s on %s, but the code uses no %s", p.grant.Kind, p.grant.Name, strings.Join(p.Verbs, ", "), resource, kind)
			}
		})
	},
}

// builtinGroup reports whether all groups are built in. Kinds of other groups may have the same names.
func builtinGroup(groups []string) bool {
	return !slices.ContainsFunc(groups, func(group string) bool {
		return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	})
}

// kinds maps the plurals of built-in kinds that operators are granted to their kinds.
var kinds = map[string]string{
	"pods": "Pod", "services": "Service", "serviceaccounts": "ServiceAccount", "persistentvolumeclaims": "PersistentVolumeClaim",
	"persistentvolumes": "PersistentVolume", "nodes": "Node", "endpoints": "Endpoints", "endpointslices": "EndpointSlice",
	"replicationcontrollers": "ReplicationController", "resourcequotas": "ResourceQuota", "limitranges": "LimitRange",
	"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "replicasets": "ReplicaSet",
	"jobs": "Job", "cronjobs": "CronJob", "ingresses": "Ingress", "ingressclasses": "IngressClass", "networkpolicies": "NetworkPolicy",
	"roles": "Role", "rolebindings": "RoleBinding", "clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding",
	"horizontalpodautoscalers": "HorizontalPodAutoscaler", "poddisruptionbudgets": "PodDisruptionBudget", "storageclasses": "StorageClass",
	"priorityclasses": "PriorityClass", "certificatesigningrequests": "CertificateSigningRequest", "volumesnapshots": "VolumeSnapshot",
}
