package render

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/names"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// userRoles are the ClusterRoles of Kubernetes for users, with what they may do with the kinds of operators.
var userRoles = []struct {
	name  string
	verbs []string
}{
	{"admin", []string{"*"}},
	{"edit", []string{"create", "update", "patch", "delete"}},
	{"view", []string{"get", "list", "watch"}},
}

// APIRoles returns the ClusterRoles for the kinds that an operator provides. Kubernetes adds them to its ClusterRoles admin, edit and view.
func APIRoles(csv *v1alpha1.ClusterServiceVersion) []client.Object {
	a := &apiRoles{csv: csv}
	for _, crd := range csv.Spec.CustomResourceDefinitions.Owned {
		plural, group, _ := strings.Cut(crd.Name, ".")
		a.all(crd.Name, group, plural)
		a.add(crd.Name+"-crdview", "view", rbacv1.PolicyRule{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{crd.Name}, Verbs: []string{"get"},
		})
	}
	for _, api := range csv.Spec.APIServiceDefinitions.Owned {
		if api.Name != "" { // otherwise the resource is not known
			a.all(api.Name+"."+api.Group, api.Group, api.Name)
		}
	}
	return a.made
}

type apiRoles struct {
	csv  *v1alpha1.ClusterServiceVersion
	made []client.Object
}

// all adds the roles for a kind.
func (a *apiRoles) all(name, group, resource string) {
	for _, role := range userRoles {
		a.add(name+"-"+role.name, role.name, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: role.verbs})
	}
}

// add adds a role that becomes a part of a ClusterRole of Kubernetes, once: a version may list several versions of a kind.
func (a *apiRoles) add(name, part string, rule rbacv1.PolicyRule) {
	sum := sha256.Sum256([]byte(a.csv.Namespace))
	name = names.Join(maxLabel, a.csv.Name, name, hex.EncodeToString(sum[:5]))
	if slices.ContainsFunc(a.made, func(o client.Object) bool { return o.GetName() == name }) {
		return
	}
	labels := maps.Clone(Labels(a.csv))
	labels["rbac.authorization.k8s.io/aggregate-to-"+part] = "true"
	a.made = append(a.made, &rbacv1.ClusterRole{TypeMeta: rbacKind("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Rules: []rbacv1.PolicyRule{rule}})
}
