package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/names"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// LabelCopiedFrom is on the permissions of an operator in other namespaces. Its value is the operator's namespace.
const LabelCopiedFrom = "olm.copiedFrom"

// PermissionsDigest returns a digest of all permissions that a ClusterServiceVersion gives: those that its operator asks for, and those of users
// for the kinds that it provides. Labels of the ClusterServiceVersion do not change them.
func PermissionsDigest(csv *v1alpha1.ClusterServiceVersion) (string, error) {
	plain := *csv
	plain.Labels = nil
	return FormerDigest(&plain)
}

// FormerDigest returns the digest that older managers have stored. It depends on labels of the ClusterServiceVersion.
func FormerDigest(csv *v1alpha1.ClusterServiceVersion) (string, error) {
	spec := csv.Spec.Install.Spec
	content, err := json.Marshal([]any{spec.Permissions, spec.ClusterPermissions, APIRoles(csv)})
	if err != nil {
		return "", fmt.Errorf("encode the permissions of %s: %w", csv.Name, err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// Permissions returns the ServiceAccounts of an operator, and the Roles, ClusterRoles and bindings with what its ClusterServiceVersion asks
// for. The permissions for the operator's own namespace are repeated in the other namespaces of the group; if the group has all namespaces,
// they become permissions for the cluster, and the operator may read Namespaces. There are none in namespaces that do not exist.
func Permissions(csv *v1alpha1.ClusterServiceVersion, group Group) []client.Object {
	p := &permissions{csv: csv, known: map[string]bool{"default": true}} // each namespace has that account
	for _, one := range csv.Spec.Install.Spec.Permissions {
		p.account(one.ServiceAccountName)
		p.grant(csv.Namespace, one)
		switch {
		case group.All():
			p.grantCluster(one, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}})
		default:
			for _, namespace := range group.Targets {
				if namespace != csv.Namespace && !slices.Contains(group.Absent, namespace) {
					p.grant(namespace, one)
				}
			}
		}
	}
	for _, one := range csv.Spec.Install.Spec.ClusterPermissions {
		p.account(one.ServiceAccountName)
		p.grantCluster(one)
	}
	return p.made
}

type permissions struct {
	csv   *v1alpha1.ClusterServiceVersion
	known map[string]bool
	made  []client.Object
}

func (p *permissions) account(name string) {
	if p.known[name] {
		return
	}
	p.known[name] = true
	p.made = append(p.made, &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: p.meta(p.csv.Namespace, name),
	})
}

// twice reports whether a role was made already: a version may list the same permissions twice.
func (p *permissions) twice(namespace, name string) bool {
	return slices.ContainsFunc(p.made, func(o client.Object) bool {
		_, account := o.(*corev1.ServiceAccount)
		return !account && o.GetNamespace() == namespace && o.GetName() == name
	})
}

// grant adds a Role and its binding in a namespace.
func (p *permissions) grant(namespace string, one v1alpha1.Permissions) {
	name := p.name(one)
	if p.twice(namespace, name) {
		return
	}
	p.made = append(p.made,
		&rbacv1.Role{TypeMeta: rbacKind("Role"), ObjectMeta: p.meta(namespace, name), Rules: one.Rules},
		&rbacv1.RoleBinding{
			TypeMeta: rbacKind("RoleBinding"), ObjectMeta: p.meta(namespace, name), Subjects: p.subject(one),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		})
}

// grantCluster adds a ClusterRole and its binding.
func (p *permissions) grantCluster(one v1alpha1.Permissions, more ...rbacv1.PolicyRule) {
	one.Rules = slices.Concat(one.Rules, more)
	name := p.name(one)
	if p.twice("", name) {
		return
	}
	p.made = append(p.made,
		&rbacv1.ClusterRole{TypeMeta: rbacKind("ClusterRole"), ObjectMeta: p.meta("", name), Rules: one.Rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbacKind("ClusterRoleBinding"), ObjectMeta: p.meta("", name), Subjects: p.subject(one),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		})
}

func (p *permissions) meta(namespace, name string) metav1.ObjectMeta {
	labels := maps.Clone(Labels(p.csv))
	if namespace != p.csv.Namespace && namespace != "" {
		labels[LabelCopiedFrom] = p.csv.Namespace
	}
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

// name returns the name of the Role of permissions. It differs between namespaces, because ClusterRoles of several would have one name.
func (p *permissions) name(one v1alpha1.Permissions) string {
	content, err := json.Marshal(one)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	sum := sha256.Sum256(append(content, p.csv.Namespace...))
	return names.Join(maxLabel, p.csv.Name, one.ServiceAccountName, hex.EncodeToString(sum[:5]))
}

func (p *permissions) subject(one v1alpha1.Permissions) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: one.ServiceAccountName, Namespace: p.csv.Namespace}}
}

func rbacKind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: name}
}
