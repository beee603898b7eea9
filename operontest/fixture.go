package operontest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Object returns a copy of base with changes, so that a test states only what matters to it:
//
//	big := operontest.Object(sample, func(m *v1alpha1.Memcached) { m.Spec.Size = 9 })
func Object[O client.Object](base O, changes ...func(O)) O {
	own := base.DeepCopyObject().(O) // a copy has the same type
	for _, change := range changes {
		change(own)
	}
	return own
}

// Sample reads an object from a file of YAML documents, such as the sample that a project ships, and applies
// changes to it. It uses the first document whose kind is the name of the Go type. A field that the type does not
// have, such as a misspelled one, fails the test.
func Sample[O client.Object](t testing.TB, file string, changes ...func(O)) O {
	t.Helper()
	own, err := readSample[O](file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(own)
	}
	return own
}

func readSample[O client.Object](file string) (O, error) {
	var none O
	kind := reflect.TypeFor[O]().Elem()
	found, err := documentsIn(file)
	if err != nil {
		return none, err
	}
	i := slices.IndexFunc(found, func(d document) bool { return d.Kind == kind.Name() })
	if i < 0 {
		return none, fmt.Errorf("%s has no object of kind %s", file, kind.Name())
	}
	own, ok := reflect.New(kind).Interface().(O)
	if !ok {
		return none, fmt.Errorf("%s cannot be made", reflect.TypeFor[O]())
	}
	if err := yaml.UnmarshalStrict(found[i].text, own); err != nil {
		return none, fmt.Errorf("%s: %s: %w", file, kind.Name(), err)
	}
	return own, nil
}
