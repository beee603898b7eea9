package manifests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/rbac"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/tools/project"
)

// The API group of Roles, and their kinds.
const (
	roleGroup   = rbacv1.GroupName
	clusterRole = "ClusterRole"
	role        = "Role"
)

// rights returns the Roles and their bindings to the operator's identity: where the project declares them, or in the
// namespaces in which it works.
func (o Operator) rights() []runtime.Object {
	everywhere := append(o.askingRules(), o.sharingRules()...)
	within := map[string][]rbacv1.PolicyRule{o.Namespace: o.ownRules()}
	var objects []runtime.Object
	for _, grant := range o.Grants {
		role, err := grant.ReadRole()
		switch {
		case err != nil: // Of reported it
		case grant.Role.Unstructured == nil:
			objects = append(objects, o.bindOthers(grant))
		case grant.Scope == project.ClusterScope:
			everywhere = append(everywhere, role.Rules...)
		default:
			namespace := cmp.Or(grant.Namespace, o.Namespace)
			within[namespace] = append(within[namespace], role.Rules...)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(within)) {
		objects = append(objects, o.roleIn(namespace, within[namespace])...)
	}
	if len(o.Watch) == 0 {
		return append(objects, o.roleForAll(everywhere)...)
	}
	global, local := o.split(everywhere)
	objects = append(objects, o.roleForAll(global)...)
	return append(objects, o.roleForSome(local)...)
}

// ownRules returns the permissions that every operator needs in its own namespace: on Leases, for leader election or shards, and
// on events.
func (o Operator) ownRules() []rbacv1.PolicyRule {
	return append(o.leaseRules(), rbacv1.PolicyRule{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}})
}

// leaseRules returns rules that name the Leases if their names are known. Leases of shards have random parts in their names,
// and Leases of operators that are not built with Operon can have any name.
func (o Operator) leaseRules() []rbacv1.PolicyRule {
	rule := func(verbs []string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: verbs, ResourceNames: names}
	}
	switch {
	case o.Shards > 0:
		return []rbacv1.PolicyRule{rule([]string{"get", "create", "update", "list", "watch", "delete"})}
	case o.Flags != nil:
		return []rbacv1.PolicyRule{rule([]string{"get", "create", "update"})}
	}
	return []rbacv1.PolicyRule{rule([]string{"create"}), rule([]string{"get", "update"}, rbac.LeaseNames(o.Name, true)...)}
}

// asks reports whether the operator asks the API server which clients may read its metrics. Operators that are not built with
// Operon declare these permissions themselves, or do not ask.
func (o Operator) asks() bool { return o.Flags == nil && !o.Unmetered }

func (o Operator) askingRules() []rbacv1.PolicyRule {
	if !o.asks() {
		return nil
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	}
}

// sharingRules returns rules that allow replicas to label the objects that they divide, which is necessary if the API server
// does not select them by shard. For kinds that the project does not define, its own Roles must allow it.
func (o Operator) sharingRules() []rbacv1.PolicyRule {
	if o.Shards == 0 {
		return nil
	}
	var rules []rbacv1.PolicyRule
	for _, definition := range o.Definitions {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"patch"}})
	}
	return rules
}

// userRoles returns the ClusterRoles for users, with the operator's labels beside their own.
func (o Operator) userRoles() []runtime.Object {
	var all []runtime.Object
	for _, role := range o.UserRoles {
		meta := o.global(role.Name)
		maps.Copy(meta.Labels, role.Labels)
		all = append(all, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules})
	}
	return all
}

// metricsReader returns a ClusterRole for clients that scrape metrics. It has no effect until a user binds it.
func (o Operator) metricsReader() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: o.global("metrics-reader"),
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
}

func (o Operator) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: o.Name, Namespace: o.Namespace}}
}

func (o Operator) roleForAll(rules []rbacv1.PolicyRule) []runtime.Object {
	if len(rules) == 0 {
		return nil
	}
	return []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: o.global(), Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: o.global(), Subjects: o.subjects(), RoleRef: rbacv1.RoleRef{APIGroup: roleGroup, Kind: clusterRole, Name: o.Name}},
	}
}

// roleForSome returns one ClusterRole, bound in each namespace in which the operator works.
func (o Operator) roleForSome(rules []rbacv1.PolicyRule) []runtime.Object {
	if len(rules) == 0 {
		return nil
	}
	all := []runtime.Object{&rbacv1.ClusterRole{ObjectMeta: o.global("namespaced"), Rules: rules}}
	for _, namespace := range o.Watch {
		meta := o.meta("namespaced")
		meta.Namespace = namespace
		all = append(all, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: o.subjects(), RoleRef: rbacv1.RoleRef{APIGroup: roleGroup, Kind: clusterRole, Name: meta.Name}})
	}
	return all
}

func (o Operator) roleIn(namespace string, rules []rbacv1.PolicyRule) []runtime.Object {
	meta := o.meta()
	meta.Namespace = namespace
	return []runtime.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: o.subjects(), RoleRef: rbacv1.RoleRef{APIGroup: roleGroup, Kind: role, Name: o.Name}},
	}
}

// bindOthers binds a Role that is not part of the project, such as view.
func (o Operator) bindOthers(grant project.Grant) runtime.Object {
	ref := rbacv1.RoleRef{APIGroup: roleGroup, Kind: grant.Kind, Name: grant.Name}
	meta := o.global(grant.Name)
	if grant.Scope == project.ClusterScope {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: o.subjects(), RoleRef: ref}
	}
	meta.Namespace = cmp.Or(grant.Namespace, o.Namespace)
	return &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: o.subjects(), RoleRef: ref}
}

// split separates rules for cluster-scoped resources from the others. A rule for both becomes two.
func (o Operator) split(rules []rbacv1.PolicyRule) (global, local []rbacv1.PolicyRule) {
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			global = append(global, rule)
			continue
		}
		there, here := rule, rule
		there.Resources, here.Resources = nil, nil
		for _, resource := range rule.Resources {
			to := &here
			if o.inNoNamespace(rule.APIGroups, resource) {
				to = &there
			}
			to.Resources = append(to.Resources, resource)
		}
		if len(there.Resources) > 0 {
			global = append(global, there)
		}
		if len(here.Resources) > 0 {
			local = append(local, here)
		}
	}
	return global, local
}

// clusterScoped lists the cluster-scoped resources of Kubernetes, and of widely used extensions, by group; "*" stands for a whole group.
var clusterScoped = map[string][]string{
	"":                             {"nodes", "namespaces", "persistentvolumes"},
	"admissionregistration.k8s.io": {"*"},
	"apiextensions.k8s.io":         {"*"},
	"apiregistration.k8s.io":       {"*"},
	"authentication.k8s.io":        {"*"},
	"authorization.k8s.io":         {"subjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"},
	"cert-manager.io":              {"clusterissuers"},
	"certificates.k8s.io":          {"*"},
	"flowcontrol.apiserver.k8s.io": {"*"},
	"gateway.networking.k8s.io":    {"gatewayclasses"},
	"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
	"node.k8s.io":                  {"*"},
	"rbac.authorization.k8s.io":    {"clusterroles", "clusterrolebindings"},
	"resource.k8s.io":              {"deviceclasses", "resourceslices"},
	"scheduling.k8s.io":            {"*"},
	"snapshot.storage.k8s.io":      {"volumesnapshotclasses", "volumesnapshotcontents"},
	"storage.k8s.io":               {"storageclasses", "csidrivers", "csinodes", "volumeattachments", "volumeattributesclasses"},
}

func (o Operator) inNoNamespace(groups []string, resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	for _, group := range groups {
		names := clusterScoped[group]
		if slices.Contains(names, "*") || slices.Contains(names, resource) {
			return true
		}
		for _, definition := range o.Definitions {
			scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
			if definition.GetName() == fmt.Sprintf("%s.%s", resource, group) && scope == "Cluster" {
				return true
			}
		}
	}
	return false
}
