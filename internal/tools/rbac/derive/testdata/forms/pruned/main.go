// Command pruned declares children of one kind for each reason to delete some, or none.
package main

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() {
	operon.Main("pruned-operator", operon.Manage(Shops{}), operon.Manage(Malls{}))
}

type Shops struct{}

func named(s *v1.Shop) metav1.ObjectMeta { return metav1.ObjectMeta{Name: s.Name} }

func (Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	// Always: these are never deleted.
	if s.Spec.Name == "" {
		out.Wait("NoName", "waits for spec.name")
		return nil
	}
	if s.Spec.Name == "-" {
		return errors.New("no name")
	}
	if err := check(s); err != nil {
		return err
	}
	for _, child := range []client.Object{&corev1.ConfigMap{ObjectMeta: named(s)}, &corev1.ServiceAccount{ObjectMeta: named(s)}} {
		out.Child(child)
	}
	// Under a condition.
	if s.Spec.Wanted {
		out.Child(&corev1.Service{ObjectMeta: named(s)})
	}
	// For each of some.
	for range s.Spec.Many {
		out.Child(&batchv1.Job{ObjectMeta: named(s)})
	}
	// In a function that is called under a condition.
	if s.Spec.Wanted {
		some(s, out)
	}
	// Made again.
	out.Child(&appsv1.Deployment{ObjectMeta: named(s)}, operon.Replace())
	// Under a name that may change, or in another namespace.
	out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.Spec.Name}})
	out.Child(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Spec.Namespace}})
	// The same, in variables, functions and assignments.
	name, target := s.Spec.Name+"-x", s.Spec
	out.Child(&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}})
	out.Child(&corev1.ReplicationController{ObjectMeta: at(target.Name, s.Namespace)})
	account := &corev1.LimitRange{}
	account.Name = suffixed(s)
	out.Child(account)
	quota := &corev1.ResourceQuota{ObjectMeta: named(s)}
	quota.SetNamespace(target.Namespace)
	out.Child(quota)
	out.Child(&corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: types.NamespacedName{Name: s.Spec.Name}.String()}})
	// In the same one.
	out.Child(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}})
	// With the contents of the spec, which the name does not depend on.
	lease := &coordinationv1.Lease{ObjectMeta: fixed(s.Name, s.Namespace), Spec: coordinationv1.LeaseSpec{HolderIdentity: &s.Spec.Name}}
	lease.Name += "-of-" + lease.Name
	out.Child(lease)
	// In none.
	out.Child(&storagev1.StorageClass{ObjectMeta: named(s)})
	// One after the other.
	first := &corev1.PersistentVolumeClaim{ObjectMeta: named(s)}
	out.Child(first)
	out.Child(&appsv1.StatefulSet{ObjectMeta: named(s)}, operon.After(first))
	// Children that grant permissions.
	out.Child(&rbacv1.Role{ObjectMeta: named(s)})
	if s.Spec.Wanted {
		return nil
	}
	// After that.
	out.Child(&policyv1.PodDisruptionBudget{ObjectMeta: named(s)})
	return nil
}

func at(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

func fixed(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

func suffixed(s *v1.Shop) string { return s.Name + s.Spec.Name }

func check(s *v1.Shop) error { return nil }

func some(s *v1.Shop, out *operon.Composition) { out.Child(&batchv1.CronJob{ObjectMeta: named(s)}) }

// Malls are in no namespace, so that all that they have is collected.
type Malls struct{}

func (Malls) Compose(ctx context.Context, m *v1.Mall, out *operon.Composition) error {
	out.Child(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.Name}})
	out.Child(&v1.Shop{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: m.Name}}, operon.Orphan())
	return nil
}
