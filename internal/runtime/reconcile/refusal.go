package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReasonStatusRefused: the API server rejects the status of the object as invalid.
const ReasonStatusRefused = "StatusRefused"

// StatusError reports that a kind's CustomResourceDefinition does not allow the status to be written to its
// objects.
type StatusError struct {
	Kind string
	Err  error
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the CRD of %s rejects this status, so it is not written: %v; set the field in Observe to an allowed value, or change the Go type and generate the CRD again", e.Kind, e.Err)
}

func (e *StatusError) Unwrap() error { return e.Err }

// missing returns the fields that the API server reports as missing in a status. A required field with
// its zero value in Go cannot be distinguished from a missing one: a patch of the changes leaves it out.
func missing(err error) (fields [][]string) {
	var refused apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refused) || refused.Status().Details == nil {
		return nil
	}
	for _, cause := range refused.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldValueRequired && strings.HasPrefix(cause.Field, "status.") {
			fields = append(fields, strings.Split(cause.Field, "."))
		}
	}
	return fields
}

// filled returns a patch that also has some unchanged fields. Because the API
// server reports these as missing, no value of another manager is lost.
type filled struct {
	client.Patch
	fields [][]string
}

// Data implements client.Patch.
func (f filled) Data(object client.Object) ([]byte, error) {
	text, err := f.Patch.Data(object)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{}
	if err := json.Unmarshal(text, &patch); err != nil {
		return nil, err
	}
	whole := object.DeepCopyObject()
	present(statusField(whole))
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(whole)
	if err != nil {
		return nil, err
	}
	for _, field := range f.fields {
		value, found, err := unstructured.NestedFieldCopy(values, field...)
		if err != nil || !found || value == nil {
			continue // the response to the next request reports it
		}
		if err := unstructured.SetNestedField(patch, value, field...); err != nil {
			return nil, err
		}
	}
	return json.Marshal(patch)
}

var marshals = reflect.TypeFor[json.Marshaler]()

// present replaces nil lists and maps, which JSON encodes as null (no value), by empty ones.
func present(v reflect.Value) {
	if v.Type().Implements(marshals) || reflect.PointerTo(v.Type()).Implements(marshals) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				present(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	}
}

// keepEmpty replaces nil lists and maps of a status by empty ones if they were empty before: the API
// server has an empty one if the definition requires one, and no other can be written.
func keepEmpty(now, before reflect.Value) {
	switch now.Kind() {
	case reflect.Struct:
		for i := range now.NumField() {
			if now.Type().Field(i).IsExported() {
				keepEmpty(now.Field(i), before.Field(i))
			}
		}
	case reflect.Slice, reflect.Map:
		if now.IsNil() && !before.IsNil() && before.Len() == 0 {
			now.Set(before)
		}
	}
}
