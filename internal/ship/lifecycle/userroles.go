package lifecycle

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	operatorsGroup = "operators.coreos.com"
	packagesGroup  = "packages.operators.coreos.com"
)

// userRoles returns the ClusterRoles for users of the lifecycle manager.
//
// Kubernetes adds the one for viewing to its own ClusterRole view. Administrators bind the one for subscribing: whoever may subscribe can
// install any operator of the catalogs, with the permissions that this operator asks for. OLM adds it to the ClusterRole edit.
func userRoles() []rbacv1.ClusterRole {
	view := []string{"get", "list", "watch"}
	return []rbacv1.ClusterRole{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "view", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
			Rules: []rbacv1.PolicyRule{
				{
					APIGroups: []string{operatorsGroup}, Verbs: view,
					Resources: []string{"catalogsources", "clusterserviceversions", "installplans", "operatorconditions", "operatorgroups", "subscriptions"},
				},
				{APIGroups: []string{packagesGroup}, Resources: []string{"packagemanifests", "packagemanifests/icon"}, Verbs: view},
			},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: "subscriber"},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{operatorsGroup}, Resources: []string{"subscriptions"}, Verbs: []string{"create", "update", "patch", "delete"}},
				{APIGroups: []string{operatorsGroup}, Resources: []string{"installplans"}, Verbs: []string{"update", "patch", "delete"}},
				{APIGroups: []string{operatorsGroup}, Resources: []string{"clusterserviceversions"}, Verbs: []string{"delete"}},
			},
		},
	}
}
