// Package manifests builds all objects that install an operator in a cluster: its namespace, definitions, identity,
// rights, Deployment, and what goes with that. It is the one source of plain manifests, of the Helm chart, of the
// kustomize base, and of a deployment itself.
//
//	operator, err := install.Of(p, "registry.example.com/web:1.0")
//	objects, err := operator.Objects()
//
// What is built holds to what clusters ask for in production, with nothing to switch on: the
// restricted pod security standard, two replicas of which one leads, probes, limits, a budget for
// disruptions, a policy for the network, and the rights that the project declares, nowhere wider than
// it works. Nothing here talks to a cluster.
package manifests

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/tools/project"
)

// DefaultReplicas are enough that one can go at any time.
const DefaultReplicas = 2

// maxShards is how many there can be.
const maxShards = 64

// Operator is what an operator is installed as.
type Operator struct {
	// Name is what the operator calls itself, and what its objects are called.
	Name string
	// Namespace is where it runs.
	Namespace string
	// Image is what its container runs.
	Image string
	// Replicas is how many pods there are. Whoever leads works.
	Replicas int32
	// Watch are the namespaces that it works in, none for all of the cluster. It gets its rights
	// there only, except for those on what is in no namespace.
	Watch []string
	// Webhooks: API servers ask it, by a Service.
	Webhooks bool
	// Resources of the container.
	Resources corev1.ResourceRequirements
	// Shards is how many shards the replicas share the objects in; 0: one replica works on all.
	Shards int
	// Flags place an operator that is not Operon's: those that it understands. Nil: Operon's.
	Flags []string
	// Unprobed: it answers no probes. Unmetered: it serves no metrics.
	Unprobed, Unmetered bool
	// Args are further arguments of the container.
	Args []string
	// PodAnnotations are those of its pods.
	PodAnnotations map[string]string
	// Monitor: the cluster has the kind ServiceMonitor, by which Prometheus finds the metrics.
	Monitor bool
	// Definitions are its CustomResourceDefinitions.
	Definitions []*unstructured.Unstructured
	// Policies are its admission policies and their bindings.
	Policies []*unstructured.Unstructured
	// Grants are its rights.
	Grants []project.Grant
}

// Objects are all objects, in an order in which they can be applied. Definitions and policies come as they are.
//
// It fails where a name or a number cannot be, with all that is wrong.
func (o Operator) Objects() ([]*unstructured.Unstructured, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	typed := []runtime.Object{o.namespace(), o.serviceAccount()}
	typed = append(typed, o.rights()...)
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
		problems = append(problems, errors.New("namespaces to work in: only operators that are written with Operon take them; leave them out"))
	}
	if o.Shards > 0 && o.Flags != nil {
		problems = append(problems, errors.New("shards are of operators that are written with Operon: leave them out"))
	}
	return errors.Join(problems...)
}

// labels are those of all objects.
func (o Operator) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": o.Name, "app.kubernetes.io/component": "operator"}
}

// meta is the metadata of an object in the operator's namespace. Its name has parts after the
// operator's.
func (o Operator) meta(parts ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: strings.Join(append([]string{o.Name}, parts...), "-"), Namespace: o.Namespace, Labels: o.labels()}
}

// global is the metadata of an object in no namespace.
func (o Operator) global(parts ...string) metav1.ObjectMeta {
	made := o.meta(parts...)
	made.Namespace = ""
	return made
}

// restricted lets nothing into a namespace that has more rights on a node than it needs.
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

// plain is an object as one would write it: with its kind, and without what a server fills in.
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
