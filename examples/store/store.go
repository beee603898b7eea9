package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable/artifactstore"

	"github.com/operon-framework/operon/examples/store/api/v1alpha1"
)

// port is the port of a server.
const port = 11311

// Store manages a server, and has actions to back it up and to restore it.
type Store struct {
	// Backups is the destination of backups: a directory in a volume, or an object store.
	Backups artifactstore.Bucket
	// Address is the address of one server for all Stores, each of which has a room there, for an operator that runs outside of the
	// cluster. If it is empty, each Store has its own server, at its Service.
	Address string
}

// Compose declares the server and its address.
func (Store) Compose(_ context.Context, s *v1alpha1.Store, out *operon.Composition) error {
	out.Child(service(s))
	out.Child(statefulSet(s))
	return nil
}

// Actions returns the actions for a Store.
func (s Store) Actions() operon.Actions[*v1alpha1.Store] {
	return operon.Actions[*v1alpha1.Store]{"backup": s.backup, "restore": s.restore}
}

func service(s *v1alpha1.Store) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Spec: corev1.ServiceSpec{
			Selector: labels(s),
			Ports:    []corev1.ServicePort{{Name: "store", Port: port, TargetPort: intstr.FromString("store")}},
		},
	}
}

func statefulSet(s *v1alpha1.Store) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: labels(s)},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: s.Name,
			Replicas:    new(int32(1)),
			Selector:    &metav1.LabelSelector{MatchLabels: labels(s)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(s)},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:           "store",
					Image:          "store:latest",
					Args:           []string{"serve", fmt.Sprintf(":%d", port)},
					Env:            []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: fmt.Sprintf("%dMiB", s.Spec.MemoryMiB)}},
					Ports:          []corev1.ContainerPort{{Name: "store", ContainerPort: port}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("store")}}},
				}}},
			},
		},
	}
}

func labels(s *v1alpha1.Store) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "store", "app.kubernetes.io/instance": s.Name}
}
