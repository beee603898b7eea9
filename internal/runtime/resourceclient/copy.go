package resourceclient

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Copy writes an object of a cluster into another of the same kind. Each of them may be a Go type, unstructured,
// or metadata. from must be the caller's own.
func Copy(from, into runtime.Object) error {
	if reflect.TypeOf(from) == reflect.TypeOf(into) {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem())
		return nil
	}
	if short, ok := into.(*metav1.PartialObjectMetadata); ok {
		return copyMetadata(from, short)
	}
	fields, err := fieldsOf(from)
	if err != nil {
		return fmt.Errorf("read %T as %T: %w", from, into, err)
	}
	if loose, ok := into.(*unstructured.Unstructured); ok {
		loose.Object = fields
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into)
}

func copyMetadata(from runtime.Object, into *metav1.PartialObjectMetadata) error {
	long, err := meta.Accessor(from)
	if err != nil {
		return err
	}
	into.ObjectMeta = meta.AsPartialObjectMetadata(long).ObjectMeta
	return nil
}

// LooseOf returns an object as maps. An object that is in this form already is returned unchanged.
func LooseOf(object runtime.Object) (*unstructured.Unstructured, error) {
	fields, err := fieldsOf(object)
	return &unstructured.Unstructured{Object: fields}, err
}

func fieldsOf(object runtime.Object) (map[string]any, error) {
	if loose, ok := object.(*unstructured.Unstructured); ok {
		return loose.Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}
