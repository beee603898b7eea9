package render

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Priorities of API services, as of the Operator Lifecycle Manager.
const (
	groupPriority   = 2000
	versionPriority = 15
)

// checkAPIServices returns the first mistake in the descriptions of API services.
func checkAPIServices(csv *v1alpha1.ClusterServiceVersion) error {
	servers := map[string]string{}
	for i, one := range csv.Spec.APIServiceDefinitions.Owned {
		if one.Group == "" || one.Version == "" {
			return fmt.Errorf("spec.apiservicedefinitions.owned[%d]: group or version is missing", i)
		}
		name := one.Version + "." + one.Group
		if other, served := servers[name]; served && other != one.DeploymentName {
			return fmt.Errorf("spec.apiservicedefinitions.owned[%d]: the Deployments %q and %q serve the same APIService %s", i, other, one.DeploymentName, name)
		}
		servers[name] = one.DeploymentName
		if Reserved(one.Group) {
			return fmt.Errorf("spec.apiservicedefinitions.owned[%d]: the API group %q belongs to Kubernetes or to the manager: use a group of your own", i, one.Group)
		}
	}
	return nil
}

// apiServices returns the APIServices of a Server. Several kinds of a version have one.
func (s *Server) apiServices(with Certificate) []client.Object {
	var all []client.Object
	known := map[string]bool{}
	for _, one := range s.apis {
		name := one.Version + "." + one.Group
		if known[name] {
			continue
		}
		known[name] = true
		all = append(all, &apiregistrationv1.APIService{
			TypeMeta:   metav1.TypeMeta{APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: Labels(s.csv)},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: one.Group, Version: one.Version, GroupPriorityMinimum: groupPriority, VersionPriority: versionPriority, CABundle: with.Bundle,
				Service: &apiregistrationv1.ServiceReference{Namespace: s.csv.Namespace, Name: s.Service, Port: new(portOf(one.ContainerPort))},
			},
		})
	}
	return all
}

// Delegation returns the permissions that an aggregated API server needs to authenticate and authorize requests, and to read its
// certificate. Operators that serve only webhooks get none.
func (s *Server) Delegation() []client.Object {
	if len(s.apis) == 0 {
		return nil
	}
	p := &permissions{csv: s.csv}
	subject := p.subject(v1alpha1.Permissions{ServiceAccountName: s.account})
	named := func(what, namespace string) metav1.ObjectMeta {
		return p.meta(namespace, unique(s.Service+"-"+what, s.csv.Namespace, s.csv.Name, s.Deployment))
	}
	own := named("cert", s.csv.Namespace)
	return []client.Object{
		&rbacv1.Role{TypeMeta: rbacKind("Role"), ObjectMeta: own, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, ResourceNames: []string{s.Secret}, Verbs: []string{"get"},
		}}},
		&rbacv1.RoleBinding{
			TypeMeta: rbacKind("RoleBinding"), ObjectMeta: own, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name},
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbacKind("ClusterRoleBinding"), ObjectMeta: named("auth-delegator", ""), Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		},
		&rbacv1.RoleBinding{
			TypeMeta: rbacKind("RoleBinding"), ObjectMeta: named("auth-reader", metav1.NamespaceSystem), Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		},
	}
}

// Delegations returns the permissions of all aggregated API servers of an operator. There are none if they are described wrongly.
func Delegations(csv *v1alpha1.ClusterServiceVersion, group Group) []client.Object {
	servers, err := Servers(csv, group)
	if err != nil {
		return nil // the version reports it, and nothing runs
	}
	var all []client.Object
	for _, one := range servers {
		all = append(all, one.Delegation()...)
	}
	return all
}

// Entries returns the objects with which API servers find a Server, with their names only.
func (s *Server) Entries() []client.Object {
	var all []client.Object
	for _, one := range s.webhooks {
		meta := metav1.ObjectMeta{Name: configurationName(s.csv, one)}
		switch one.Type {
		case v1alpha1.ValidatingWebhook:
			all = append(all, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta})
		case v1alpha1.MutatingWebhook:
			all = append(all, &admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta})
		case v1alpha1.ConversionWebhook:
			for _, name := range one.ConversionCRDs {
				all = append(all, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
		}
	}
	for _, object := range s.apiServices(Certificate{}) {
		all = append(all, &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: object.GetName()}})
	}
	return all
}
