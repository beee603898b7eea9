package render

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
)

// Condition returns the OperatorCondition of an operator, and the permission to write it for the operator's ServiceAccounts.
func Condition(csv *v1alpha1.ClusterServiceVersion) []client.Object {
	var accounts, deployments []string
	spec := csv.Spec.Install.Spec
	for _, one := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		accounts = append(accounts, one.ServiceAccountName)
	}
	for _, one := range spec.Deployments {
		deployments = append(deployments, one.Name)
	}
	slices.Sort(accounts)
	accounts = slices.Compact(accounts)
	meta := metav1.ObjectMeta{Namespace: csv.Namespace, Name: csv.Name, Labels: Labels(csv)}
	all := []client.Object{&v2.OperatorCondition{
		TypeMeta:   metav1.TypeMeta{APIVersion: v2.GroupVersion.String(), Kind: "OperatorCondition"},
		ObjectMeta: meta, Spec: v2.OperatorConditionSpec{ServiceAccounts: accounts, Deployments: deployments},
	}}
	if len(accounts) == 0 {
		return all
	}
	var subjects []rbacv1.Subject
	for _, name := range accounts {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: csv.Namespace, Name: name})
	}
	return append(all,
		&rbacv1.Role{TypeMeta: rbacKind("Role"), ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{v2.GroupVersion.Group}, Resources: []string{"operatorconditions"}, ResourceNames: []string{csv.Name}, Verbs: []string{"get", "update", "patch"},
		}}},
		&rbacv1.RoleBinding{
			TypeMeta: rbacKind("RoleBinding"), ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: csv.Name},
		})
}
