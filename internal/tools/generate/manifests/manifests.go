// Package manifests builds all objects that install an operator in a cluster: its namespace, definitions, identity,
// permissions, Deployment, and related objects. It is the only source of plain manifests, of the Helm chart, of the kustomize
// base, and of a deployment itself.
//
//	operator, err := install.Of(p, "registry.example.com/web:1.0")
//	objects, err := operator.Objects()
//
// The objects meet the requirements of production clusters by default: the restricted pod security standard, two replicas of
// which one leads, probes, limits, a PodDisruptionBudget, a NetworkPolicy, and the permissions that the project declares,
// never outside the namespaces in which it works. The package does not access a cluster.
package manifests

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/tools/project"
)

// DefaultReplicas is enough to allow one replica to stop at any time.
const DefaultReplicas = 2

// maxShards is the maximum number of shards.
const maxShards = 64

// Operator describes how an operator is installed.
type Operator struct {
	// Name is the operator's own name, and the name of its objects.
	Name string
	// Namespace is the namespace in which it runs.
	Namespace string
	// Image is its container image.
	Image string
	// Replicas is the number of pods. Only the leader works.
	Replicas int32
	// Watch lists the namespaces in which it works; if it is empty, it works in the whole cluster. Permissions are granted only
	// in these namespaces, except permissions on cluster-scoped resources.
	Watch []string
	// Webhooks reports that API servers call the operator through a Service.
	Webhooks bool
	// Resources are the resources of the container.
	Resources corev1.ResourceRequirements
	// Shards is the number of shards into which the replicas divide the objects. If it is 0, one replica works on all objects.
	Shards int
	// Flags are the flags that configure an operator that is not built with Operon. If it is nil, the operator is built with
	// Operon.
	Flags []string
	// Unprobed reports that it does not answer probes. Unmetered reports that it does not serve metrics.
	Unprobed, Unmetered bool
	// Scratch reports that it needs a writable directory /tmp.
	Scratch bool
	// Args are additional arguments of the container.
	Args []string
	// Env and EnvFrom are additional environment variables of the container.
	Env     []corev1.EnvVar
	EnvFrom []corev1.EnvFromSource
	// Volumes and Mounts are additional volumes of its pods, and where the container has them.
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
	// PodAnnotations are the annotations of its pods.
	PodAnnotations map[string]string
	// Monitor reports that the cluster has the kind ServiceMonitor, with which Prometheus finds the metrics.
	Monitor bool
	// Definitions are its CustomResourceDefinitions.
	Definitions []*unstructured.Unstructured
	// Policies are its admission policies and their bindings.
	Policies []*unstructured.Unstructured
	// Grants are its permissions.
	Grants []project.Grant
	// UserRoles are ClusterRoles for users of its kinds. Each is named by the operator's name and its own.
	UserRoles []rbacv1.ClusterRole
}

// Objects returns all objects, in an order in which they can be applied. Definitions and policies are returned unchanged.
//
// It fails if a name or a number is invalid, and reports all errors.
func (o Operator) Objects() ([]*unstructured.Unstructured, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	typed := []runtime.Object{o.namespace(), o.serviceAccount()}
	typed = append(typed, o.rights()...)
	typed = append(typed, o.userRoles()...)
	if o.Webhooks {
		typed = append(typed, o.webhookService())
	}
	if o.asks() {
		typed = append(typed, o.metricsReader())
	}
	if !o.Unmetered {
		typed = append(typed, o.metricsService())
	}
	typed = append(typed, o.networkPolicy(), o.budget(), o.deployment())
	var objects []*unstructured.Unstructured
	for i, one := range typed {
		plain, err := plain(one)
		if err != nil {
			return nil, err
		}
		objects = append(objects, plain)
		if i == 0 {
			objects = append(objects, o.Definitions...)
			objects = append(objects, o.Policies...)
		}
	}
	if o.Monitor && !o.Unmetered {
		objects = append(objects, o.serviceMonitor())
	}
	return objects, nil
}

func (o Operator) validate() error {
	var problems []error
	name := func(what, value string) {
		for _, wrong := range validation.IsDNS1123Label(value) {
			problems = append(problems, fmt.Errorf("the %s %q: %s", what, value, wrong))
		}
	}
	name("operator's name", o.Name)
	name("namespace", o.Namespace)
	for _, watched := range o.Watch {
		name("namespace to work in", watched)
	}
	if o.Image == "" || strings.ContainsAny(o.Image, " \t\n") {
		problems = append(problems, fmt.Errorf("the image %q: want a reference such as registry.example.com/%s:1.0", o.Image, o.Name))
	}
	if o.Replicas < 1 {
		problems = append(problems, fmt.Errorf("%d replicas: want at least one", o.Replicas))
	}
	if o.Shards < 0 || o.Shards > maxShards {
		problems = append(problems, fmt.Errorf("%d shards: want at most %d, or 0 for none", o.Shards, maxShards))
	}
	if len(o.Watch) > 0 && o.Flags != nil {
		problems = append(problems, errors.New("the option for namespaces is only for operators that are written with Operon: remove it"))
	}
	if o.Shards > 0 && o.Flags != nil {
		problems = append(problems, errors.New("shards are of operators that are written with Operon: leave them out"))
	}
	return errors.Join(problems...)
}

// labels returns the labels of all objects.
func (o Operator) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": o.Name, "app.kubernetes.io/component": "operator"}
}

// meta returns the metadata of an object in the operator's namespace. Its name is the operator's name followed by parts.
func (o Operator) meta(parts ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: strings.Join(append([]string{o.Name}, parts...), "-"), Namespace: o.Namespace, Labels: o.labels()}
}

// global returns the metadata of a cluster-scoped object.
func (o Operator) global(parts ...string) metav1.ObjectMeta {
	made := o.meta(parts...)
	made.Namespace = ""
	return made
}

// restricted is the label that makes a namespace reject pods with more privileges on a node than they need.
const restricted = "pod-security.kubernetes.io/enforce"

func (o Operator) namespace() *corev1.Namespace {
	made := &corev1.Namespace{ObjectMeta: o.global()}
	made.Name = o.Namespace
	made.Labels[restricted] = "restricted"
	return made
}

func (o Operator) serviceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: o.meta()}
}

// plain returns an object as a user would write it: with its kind, and without the fields that a server sets.
func plain(object runtime.Object) (*unstructured.Unstructured, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{Object: fields}
	made.SetGroupVersionKind(kinds[0])
	delete(fields, "status")
	if kinds[0].GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		delete(fields, "spec")
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "spec", "template", "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "spec", "strategy")
	return made, nil
}
