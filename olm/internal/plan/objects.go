package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/bundle"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
)

// AnnotationProperties has the properties of the bundle on its ClusterServiceVersion, which resolution of later plans needs.
const AnnotationProperties = "operatorframework.io/properties"

// Objects are the objects of a bundle in a namespace.
type Objects struct {
	CSV *unstructured.Unstructured
	// Typed is the decoded ClusterServiceVersion.
	Typed *v1alpha1.ClusterServiceVersion
	// CRDs are written after the ClusterServiceVersion, and Others after them.
	CRDs, Others []*unstructured.Unstructured
}

// All returns the objects in the order in which they are written.
func (o *Objects) All() []*unstructured.Unstructured {
	return slices.Concat([]*unstructured.Unstructured{o.CSV}, o.CRDs, o.Others)
}

// Of returns the objects of a bundle in a namespace. properties are those of the catalog, as JSON, or empty. replaces is the version that is
// installed, or empty: a version of a catalog also replaces those that it skips. The error says what makes it impossible to install the
// bundle.
func Of(b *bundle.Bundle, namespace, properties, replaces string) (*Objects, error) {
	if b.Object == nil {
		return nil, fmt.Errorf("the bundle has no ClusterServiceVersion: %w", first(b.Problems))
	}
	csv := b.Object.Unstructured.DeepCopy()
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
	made := &Objects{CSV: csv, Typed: typed}
	for _, crd := range b.CRDs {
		if crd.Typed == nil {
			return nil, fmt.Errorf("the CustomResourceDefinition %s cannot be read", crd.GetName())
		}
		object, err := definition(crd.Typed, typed)
		if err != nil {
			return nil, err
		}
		made.CRDs = append(made.CRDs, object)
	}
	others, err := made.others(b, typed)
	made.Others = others
	return made, err
}

// PackageOf returns the package from which a version was installed, or an empty string.
func PackageOf(csv *v1alpha1.ClusterServiceVersion) string {
	return packageIn(csv.Annotations[AnnotationProperties])
}

func packageIn(properties string) string {
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

// labelComponent adds the label of the package, by which tools find the objects of an operator.
func labelComponent(csv *unstructured.Unstructured) {
	of := packageIn(csv.GetAnnotations()[AnnotationProperties])
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

// definition returns a CustomResourceDefinition without its conversion, which the ClusterServiceVersion describes. One that another server
// converts is refused: it would get all objects of the kind.
func definition(crd *apiextensionsv1.CustomResourceDefinition, csv *v1alpha1.ClusterServiceVersion) (*unstructured.Unstructured, error) {
	converts := slices.ContainsFunc(csv.Spec.WebhookDefinitions, func(one v1alpha1.WebhookDescription) bool {
		return one.Type == v1alpha1.ConversionWebhook && slices.Contains(one.ConversionCRDs, crd.Name)
	})
	if by := crd.Spec.Conversion; by != nil && by.Strategy == apiextensionsv1.WebhookConverter && !converts {
		return nil, fmt.Errorf("the CustomResourceDefinition %s has a conversion webhook, and no ConversionWebhook in spec.webhookdefinitions is for it", crd.Name)
	}
	object, err := plain(crd, "apiextensions.k8s.io/v1", "CustomResourceDefinition")
	if err == nil {
		unstructured.RemoveNestedField(object.Object, "spec", "conversion")
	}
	return object, err
}

func first(problems []bundle.Problem) error {
	if len(problems) == 0 {
		return fmt.Errorf("its manifests have none")
	}
	return problems[0]
}

// clusterScoped are the kinds that bundles may contain and that have no namespace.
var clusterScoped = map[string]bool{
	"ClusterRole": true, "ClusterRoleBinding": true, "PriorityClass": true, "ConsoleYAMLSample": true, "ConsoleQuickStart": true,
	"ConsoleCLIDownload": true, "ConsoleLink": true, "ConsolePlugin": true,
}

// others returns the objects of the bundle that are neither its version nor definitions.
func (*Objects) others(b *bundle.Bundle, csv *v1alpha1.ClusterServiceVersion) ([]*unstructured.Unstructured, error) {
	var made []*unstructured.Unstructured
	for i := range b.Others {
		object := b.Others[i].Unstructured.DeepCopy()
		if !bundle.Installs(object.GetKind()) {
			return nil, fmt.Errorf("the bundle has an object %s %s, which a bundle cannot contain", object.GetKind(), object.GetName())
		}
		if clusterScoped[object.GetKind()] {
			object.SetNamespace("")
		} else {
			object.SetNamespace(csv.Namespace)
		}
		label(object, csv)
		made = append(made, object)
	}
	return made, nil
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
