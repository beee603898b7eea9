package contents

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
)

// AnnotationProperties has the properties of the bundle on its ClusterServiceVersion, which resolution of later plans needs.
const AnnotationProperties = "operatorframework.io/properties"

// AnnotationDigest is on CustomResourceDefinitions that a plan wrote, with the digest of what it wrote.
const AnnotationDigest = "olm.crd-digest"

// Bundle is what a bundle contains. It is not changed.
type Bundle struct {
	CSV  *unstructured.Unstructured
	CRDs []Definition
	// Others are the other objects, as they are in the bundle.
	Others []*unstructured.Unstructured
}

// Definition is a CustomResourceDefinition of a bundle.
type Definition struct {
	*apiextensionsv1.CustomResourceDefinition
	// Converted describes the conversion from v1beta1. It is empty for a definition in v1.
	Converted string
}

// Objects are the objects of a bundle in a namespace.
type Objects struct {
	CSV *unstructured.Unstructured
	// Typed is the decoded ClusterServiceVersion.
	Typed *v1alpha1.ClusterServiceVersion
	// CRDs are written after the ClusterServiceVersion, and Others after them.
	CRDs, Others []*unstructured.Unstructured

	changes map[string]string // by keyOf
}

// All returns the objects in the order in which they are written.
func (o *Objects) All() []*unstructured.Unstructured {
	return slices.Concat([]*unstructured.Unstructured{o.CSV}, o.CRDs, o.Others)
}

// Change describes how an object differs from the one in the bundle, such as in the version of its API. It is empty for most objects.
func (o *Objects) Change(object *unstructured.Unstructured) string { return o.changes[keyOf(object)] }

func keyOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// Of returns the objects of a bundle in a namespace. properties are those of the catalog, as JSON, or empty. replaces is the version that is
// installed, or empty: a version of a catalog also replaces those that it skips. The error says what makes it impossible to install the
// bundle.
func Of(b Bundle, namespace, properties, replaces string) (*Objects, error) {
	csv := b.CSV.DeepCopy()
	csv.SetNamespace(namespace)
	unstructured.RemoveNestedField(csv.Object, "status")
	unstructured.RemoveNestedField(csv.Object, "spec", "replaces")
	if replaces != "" {
		if err := unstructured.SetNestedField(csv.Object, replaces, "spec", "replaces"); err != nil {
			return nil, fmt.Errorf("the ClusterServiceVersion %s: %w", csv.GetName(), err)
		}
	}
	if properties != "" {
		annotations := csv.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[AnnotationProperties] = properties
		csv.SetAnnotations(annotations)
		labelComponent(csv)
	}
	typed := &v1alpha1.ClusterServiceVersion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(csv.Object, typed); err != nil {
		return nil, fmt.Errorf("the ClusterServiceVersion %s: %w", csv.GetName(), err)
	}
	made := &Objects{CSV: csv, Typed: typed, changes: map[string]string{}}
	for _, crd := range b.CRDs {
		if err := made.define(crd); err != nil {
			return nil, err
		}
	}
	for _, object := range b.Others {
		if err := made.add(object); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// PackageOf returns the package from which a version was installed, or an empty string.
func PackageOf(csv *v1alpha1.ClusterServiceVersion) string {
	return PackageIn(csv.Annotations[AnnotationProperties])
}

// PackageIn returns the package in the value of AnnotationProperties, or an empty string.
func PackageIn(properties string) string {
	var written struct {
		Properties []struct {
			Type  string
			Value json.RawMessage
		}
	}
	if json.Unmarshal([]byte(properties), &written) != nil {
		return "" // it was written by hand
	}
	for _, one := range written.Properties {
		var value struct{ PackageName string }
		if one.Type == "olm.package" && json.Unmarshal(one.Value, &value) == nil {
			return value.PackageName
		}
	}
	return ""
}

// FormerDigests returns the digests that older managers may have stored for the permissions of a version: with its labels, and with those of its
// bundle.
func FormerDigests(csv *v1alpha1.ClusterServiceVersion) ([]string, error) {
	bundled := *csv
	bundled.Labels = map[string]string{render.ComponentLabel(PackageOf(csv), csv.Namespace): ""}
	with, err := render.FormerDigest(csv)
	if err != nil {
		return nil, err
	}
	before, err := render.FormerDigest(&bundled)
	return []string{with, before}, err
}

// labelComponent adds the label of the package, by which tools find the objects of an operator.
func labelComponent(csv *unstructured.Unstructured) {
	of := PackageIn(csv.GetAnnotations()[AnnotationProperties])
	if of == "" {
		return
	}
	labels := csv.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[render.ComponentLabel(of, csv.GetNamespace())] = ""
	csv.SetLabels(labels)
}

// ReservedGroup returns an error if the kind that a definition defines is in an API group of Kubernetes or of the manager.
func ReservedGroup(name, group string) error {
	if render.Reserved(group) {
		return fmt.Errorf("CustomResourceDefinition %s: the API group %s belongs to Kubernetes or to the manager", name, group)
	}
	return nil
}

// ForeignConversion returns an error if another server than the operator converts the objects of a definition: it would get all of them.
func ForeignConversion(crd *apiextensionsv1.CustomResourceDefinition, csv *v1alpha1.ClusterServiceVersion) error {
	if by := crd.Spec.Conversion; by != nil && by.Strategy == apiextensionsv1.WebhookConverter && !HasConversion(csv, crd.Name) {
		return fmt.Errorf("the CustomResourceDefinition %s has a conversion webhook, and no ConversionWebhook in spec.webhookdefinitions is for it", crd.Name)
	}
	return nil
}

// define adds a CustomResourceDefinition without its conversion, which the ClusterServiceVersion describes.
func (o *Objects) define(crd Definition) error {
	if err := ForeignConversion(crd.CustomResourceDefinition, o.Typed); err != nil {
		return err
	}
	object, err := plain(crd.CustomResourceDefinition, "apiextensions.k8s.io/v1", "CustomResourceDefinition")
	if err != nil {
		return err
	}
	if slices.ContainsFunc(o.CRDs, func(other *unstructured.Unstructured) bool { return keyOf(other) == keyOf(object) }) {
		return fmt.Errorf("the bundle has %s twice", keyOf(object))
	}
	unstructured.RemoveNestedField(object.Object, "spec", "conversion")
	o.CRDs = append(o.CRDs, object)
	if crd.Converted != "" {
		o.changes[keyOf(object)] = crd.Converted
	}
	return nil
}

// add adds an object that is neither the version nor a definition.
func (o *Objects) add(object *unstructured.Unstructured) error {
	object, change, err := Current(object)
	if err != nil {
		return fmt.Errorf("the bundle has an object that cannot be installed: %w", err)
	}
	object.SetNamespace(o.Typed.Namespace)
	if kinds[object.GetKind()].cluster {
		object.SetNamespace("")
	}
	if slices.ContainsFunc(o.Others, func(other *unstructured.Unstructured) bool { return keyOf(other) == keyOf(object) }) {
		return fmt.Errorf("the bundle has %s twice", keyOf(object))
	}
	label(object, o.Typed)
	o.Others = append(o.Others, object)
	if change != "" {
		o.changes[keyOf(object)] = change
	}
	return nil
}

func label(object client.Object, csv *v1alpha1.ClusterServiceVersion) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range render.Labels(csv) {
		labels[key] = value
	}
	object.SetLabels(labels)
}

// plain returns an object without a type, as it is written.
func plain(object any, apiVersion, kind string) (*unstructured.Unstructured, error) {
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(made, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(made, "status")
	plain := &unstructured.Unstructured{Object: made}
	plain.SetAPIVersion(apiVersion)
	plain.SetKind(kind)
	return plain, nil
}
