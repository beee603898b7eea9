// Command listed declares children that it takes from lists: their names and namespaces change as those of others do.
package main

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

func main() {
	operon.Main("listed-operator", operon.Manage(Shops{}), operon.Manage(Malls{}))
}

type Shops struct{}

// part is a child with what else is known of it.
type part struct {
	object client.Object
	port   int
}

func (Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	own := metav1.ObjectMeta{Name: s.Name}
	renamed := metav1.ObjectMeta{Name: s.Spec.Name}
	// Never deleted.
	for _, c := range []client.Object{&corev1.ServiceAccount{ObjectMeta: own}} {
		out.Child(c)
	}
	// In a list.
	for _, c := range []client.Object{&corev1.ConfigMap{ObjectMeta: renamed}} {
		out.Child(c)
	}
	// In an array of objects.
	for _, c := range [1]corev1.Secret{{ObjectMeta: renamed}} {
		out.Child(&c)
	}
	// In a map.
	for _, c := range map[string]client.Object{"a": &appsv1.Deployment{ObjectMeta: renamed}} {
		out.Child(c)
	}
	// Added to a list, by an index, and named before.
	var more []client.Object
	quota := &corev1.ResourceQuota{}
	quota.Name = s.Spec.Name
	more = append(more, quota)
	out.Child(more[0])
	// In a list of structs.
	for _, p := range []part{{object: &policyv1.PodDisruptionBudget{ObjectMeta: renamed}, port: 80}} {
		out.Child(p.object)
	}
	// In a list that a function returns.
	for _, c := range []client.Object{jobs(s)[0]} {
		out.Child(c)
	}
	return nil
}

func jobs(s *v1.Shop) []*batchv1.Job {
	return slices.Concat([]*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: s.Spec.Name}}})
}

// Malls are in no namespace, so that all that they have is collected.
type Malls struct{}

func (Malls) Compose(ctx context.Context, mall *v1.Mall, out *operon.Composition) error {
	for _, c := range []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: mall.Name}}} {
		out.Child(c)
	}
	for _, c := range slices.Collect(maps.Values(map[string]*networkingv1.Ingress{"a": {ObjectMeta: metav1.ObjectMeta{Name: mall.Name}}})) {
		out.Child(c)
	}
	return nil
}
