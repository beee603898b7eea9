package workload

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BystanderAnnotation marks an object that is created beside the objects of an operator, to check that the operator
// does not touch objects that it does not own.
const BystanderAnnotation = "prove.operon.dev/bystander"

// longestStem is the maximum length of a name before a suffix, because some names are also used as labels.
const longestStem = 50

// owner is an abbreviation of the type.
type owner = metav1.OwnerReference

// bystanders contains the kinds whose objects can exist without doing anything. Each function changes an object so that it
// does nothing. Pods of a bystander would be counted by operators that count pods.
var bystanders = map[string]func(fields map[string]any){
	"ConfigMap": func(map[string]any) {},
	"Secret": func(fields map[string]any) {
		fields["type"] = "Opaque"
		fields["data"] = map[string]any{"of": "c29tZWJvZHkgZWxzZQ=="}
	},
	"ServiceAccount": func(fields map[string]any) {
		delete(fields, "secrets")
	},
	"Service": func(fields map[string]any) {
		fields["spec"] = map[string]any{"clusterIP": "None", "ports": []any{map[string]any{"name": "none", "port": int64(1), "protocol": "TCP"}}}
	},
	"Deployment":            still,
	"StatefulSet":           still,
	"ReplicaSet":            still,
	"PersistentVolumeClaim": onlyWanted,
	"Role":                  func(fields map[string]any) { fields["rules"] = []any{} },
}

func still(fields map[string]any) {
	_ = unstructured.SetNestedField(fields, int64(0), "spec", "replicas")
}

// onlyWanted makes a claim that is never bound: its storage class does not exist.
func onlyWanted(fields map[string]any) {
	fields["spec"] = map[string]any{
		"accessModes":      []any{"ReadWriteOnce"},
		"resources":        map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		"storageClassName": "nobody-serves-this",
	}
}

// Bystanders returns objects of the same kinds as an operator's children. They are similar to the children but do not
// belong to the operator, so they have to stay exactly as they are: see [WithBystanders].
//
// Guarantees: one object for each kind, at most eight. It runs nothing and is annotated with
// [BystanderAnnotation]. It has the labels of a child that has an owner, so that only the owner
// distinguishes them. If a child has no owner, the operator can recognize it only by labels and name:
// then the bystander has no labels, and a name that begins like the child's name.
//
// Caveats: kinds that cannot exist without effect (pods, Jobs, custom resources) have no bystander.
func Bystanders(children []*unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, child := range oneOfEach(children) {
		quiet := bystanders[child.GetKind()]
		if quiet == nil || RefOf(child).GroupKind().Group != "" && !slices.Contains([]string{"apps", "rbac.authorization.k8s.io"}, RefOf(child).GroupKind().Group) {
			continue
		}
		other := child.DeepCopy()
		delete(other.Object, "status")
		metadata := map[string]any{"name": beside(child.GetName()), "annotations": map[string]any{BystanderAnnotation: "leave me as I am"}}
		if labels := child.GetLabels(); len(labels) > 0 && len(child.GetOwnerReferences()) > 0 {
			metadata["labels"] = anyMap(labels)
		}
		other.Object["metadata"] = metadata
		quiet(other.Object)
		all = append(all, other)
	}
	return all
}

// beside returns a name similar to another name.
func beside(name string) string {
	return strings.TrimRight(name[:min(len(name), longestStem)], "-.") + "-bystander"
}

// WithBystanders returns a workload whose first step creates objects that have to stay as they are.
func WithBystanders(w Workload, stay []*unstructured.Unstructured) Workload {
	if len(stay) == 0 {
		return w
	}
	w.Steps = slices.Concat([]Step{{Name: "bystanders", Apply: stay}}, w.Steps)
	return w
}

// IsBystander reports whether an object is one of [Bystanders].
func IsBystander(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()[BystanderAnnotation] != ""
}

func anyMap(texts map[string]string) map[string]any {
	anything := make(map[string]any, len(texts))
	for key, text := range texts {
		anything[key] = text
	}
	return anything
}
