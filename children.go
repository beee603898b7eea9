package operon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/names"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
)

// ChildOption changes how a child is handled: see After, ReadyWhen, Replace, Adopt and Orphan, and package cel for
// readiness as a CEL expression.
type ChildOption = author.ChildOption

// After creates and updates the child only when the others are ready, which must be declared as well. The child is
// deleted before them, even if none of them is declared any longer: the object gets a finalizer, which only the running
// operator removes. Children that wait for each other make the object Stalled, and the message names the cycle.
func After(others ...client.Object) ChildOption { return author.After(others...) }

// ReadyWhen decides whether the child is ready, and if it is not, states why. Without it, kstatus decides: it knows
// the built-in kinds, and reads the Ready condition of others. If there are several functions, all of them must report
// that the child is ready. live must not be changed. T is the child's type, or *unstructured.Unstructured.
func ReadyWhen[T client.Object](ready func(live T) (ready bool, why string)) ChildOption {
	if untyped, ok := any(ready).(func(*unstructured.Unstructured) (bool, string)); ok {
		return author.ReadyWhen(untyped)
	}
	return author.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
		typed, err := reconcile.NewObject[T](schema.GroupVersionKind{})
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, typed)
		}
		if err != nil {
			return false, fmt.Sprintf("it cannot be read as %s: %v", reflect.TypeFor[T](), err)
		}
		return ready(typed)
	})
}

// FromYAML reads the objects of one or several YAML documents, to be declared by Child. Empty documents are skipped.
func FromYAML(documents []byte) ([]client.Object, error) {
	var objects []client.Object
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d has no apiVersion or no kind", len(objects)+1)
		}
		objects = append(objects, object)
	}
}

// FromApplyConfiguration converts a client-go apply configuration to an object, to be declared by Child. The object
// has exactly the fields that were set.
func FromApplyConfiguration(configuration runtime.ApplyConfiguration) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", configuration, err)
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetNamespace() == "" { // generated constructors set it nevertheless
		unstructured.RemoveNestedField(content, "metadata", "namespace")
	}
	return object, nil
}

// Replace deletes and recreates the child if that is the only way to change a field. Without it, the object stalls with
// the reason ImmutableField. The pods of a StatefulSet, Deployment, DaemonSet or ReplicaSet keep running, and the recreated
// object adopts them, unless its selector has requirements that the old one did not have. Everything else that the child
// owns is deleted with it.
func Replace() ChildOption { return author.Allow(plan.MayReplace) }

// Adopt takes over an existing object of the child's name that has no controller. Without it, such an object is a
// conflict. Once adopted, it is a child like any other.
//
// A child that is composed from the fields of the existing object should have its metadata.resourceVersion, too: then nothing is
// written unless that is the newest version, so a stale cache cannot undo what another client has changed.
func Adopt() ChildOption { return author.Allow(plan.MayAdopt) }

// Orphan leaves the child behind when it is no longer declared or its owner is deleted. The labels and annotations
// that made it a child are removed.
func Orphan() ChildOption { return author.Allow(plan.LeaveBehind) }

// Name joins parts with hyphens to the name of a child. A name longer than limit is shortened and ends in a hash of
// all parts, so that it is the same for the same parts and differs for others. Most names may have 253 characters.
// Label values and the names of Services may have 63, and the names of StatefulSets and CronJobs 52, because other
// names are derived from them. The smallest limit is 10.
func Name(limit int, parts ...string) string { return names.Join(limit, parts...) }
