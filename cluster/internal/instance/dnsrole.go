package instance

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// dnsUser is the user name of CoreDNS, the same as with kubeadm.
const dnsUser = "system:coredns"

// allowDNS gives CoreDNS the permissions that its plugin kubernetes needs. API servers have no built-in role for it, unlike for
// kube-proxy.
func allowDNS(ctx context.Context, client kubernetes.Interface) error {
	meta := metav1.ObjectMeta{Name: dnsUser}
	read := []string{"list", "watch"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services", "pods", "namespaces"}, Verbs: read},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
	}}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); unlessExists(err) != nil {
		return fmt.Errorf("role of CoreDNS: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: dnsUser},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: dnsUser}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); unlessExists(err) != nil {
		return fmt.Errorf("role of CoreDNS: %w", err)
	}
	return nil
}
