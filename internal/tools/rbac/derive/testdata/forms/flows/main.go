// Command flows brings children to out.Child on many ways.
package main

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/tools/rbac/derive/testdata/forms/api"
)

const name = "flows-operator"

func main() {
	shops := &Shops{parts: map[string]part{"one": service{}}}
	parts := []operon.Option{operon.Manage[*v1.Shop](shops, settings()...)}
	operon.Main(name, parts...)
}

func settings() []operon.ManageOption {
	return []operon.ManageOption{operon.ApplySets(), operon.Concurrency(2)}
}

// part makes a child.
type part interface {
	make(*v1.Shop) (client.Object, error)
}

type service struct{}

func (service) make(*v1.Shop) (client.Object, error) { return &corev1.Service{}, nil }

// disk has a method of that name that the interface does not have: its signature is another.
type disk struct{}

func (disk) make(string) (*corev1.PersistentVolume, error) { return &corev1.PersistentVolume{}, nil }

type Shops struct{ parts map[string]part }

var workload = func(s *v1.Shop) client.Object {
	if s.Spec.Wanted {
		return &appsv1.StatefulSet{}
	}
	return new(appsv1.DaemonSet)
}

// pair is a child with its name.
type pair struct {
	name  string
	child client.Object
}

func (c *Shops) Compose(ctx context.Context, s *v1.Shop, out *operon.Composition) error {
	// Of a method of an interface.
	for _, p := range c.parts {
		child, err := p.make(s)
		if err != nil {
			return err
		}
		out.Child(child)
	}
	// Of a list that grows.
	var all []client.Object
	all = append(all, &corev1.ConfigMap{})
	if s.Spec.Wanted {
		all = append(all, jobs()...)
	}
	for _, child := range slices.Concat(all, []client.Object{&policyv1.PodDisruptionBudget{}}) {
		out.Child(child)
	}
	// Of a field.
	for _, p := range []pair{{"a", &networkingv1.Ingress{}}, {name: "b", child: &corev1.PersistentVolumeClaim{}}} {
		out.Child(p.child)
	}
	// By a function of a parameter, a closure, and one of a type parameter.
	add(out, &corev1.ServiceAccount{})
	put := func(child client.Object) { out.Child(child) }
	put(&corev1.Secret{})
	generic(out, &autoscalingv2.HorizontalPodAutoscaler{})
	// What nobody can follow is any of what becomes an object here.
	out.Child(workload(s))
	// What is read is none of them.
	_, err := out.Get(ctx, &corev1.Node{})
	return err
}

func jobs() []client.Object { return []client.Object{&batchv1.Job{}} }

func add(out *operon.Composition, child client.Object) { out.Child(child) }

func generic[T client.Object](out *operon.Composition, child T) { out.Child(child) }
