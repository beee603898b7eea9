package contents

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// AnnotationStored is on a CustomResourceDefinition whose objects are stored in another version than its bundle says, until the operator converts
// them. Its value is the version in the bundle.
const AnnotationStored = "olm.stored-version"

// annotationConverter is the name of the ClusterServiceVersion that converts to the version in AnnotationStored. Older managers do not write it.
const annotationConverter = "olm.converted-by"

// HasConversion reports whether an operator converts the objects of a CustomResourceDefinition.
func HasConversion(csv *v1alpha1.ClusterServiceVersion, crd string) bool {
	return slices.ContainsFunc(csv.Spec.WebhookDefinitions, func(one v1alpha1.WebhookDescription) bool {
		return one.Type == v1alpha1.ConversionWebhook && slices.Contains(one.ConversionCRDs, crd)
	})
}

// KeepStored makes a CustomResourceDefinition store objects in the version in which the cluster stores them, until a version of the operator that
// converts them runs. Without a webhook, API servers would drop the fields that have another name in the other version. The webhook of an older version
// does not know the other version, so that all writes would fail.
func KeepStored(wanted *unstructured.Unstructured, live *apiextensionsv1.CustomResourceDefinition, converter string) error {
	now := slices.IndexFunc(live.Spec.Versions, func(one apiextensionsv1.CustomResourceDefinitionVersion) bool { return one.Storage })
	versions, _, err := unstructured.NestedSlice(wanted.Object, "spec", "versions")
	if err != nil || now < 0 {
		return err
	}
	var stored, kept map[string]any
	for _, one := range versions {
		version, is := one.(map[string]any)
		if is && version["storage"] == true {
			stored = version
		}
		if is && version["name"] == live.Spec.Versions[now].Name {
			kept = version
		}
	}
	if stored == nil || kept == nil || stored["name"] == kept["name"] {
		return nil
	}
	stored["storage"], kept["storage"] = false, true
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationStored], annotations[annotationConverter] = fmt.Sprint(stored["name"]), converter
	wanted.SetAnnotations(annotations)
	return unstructured.SetNestedSlice(wanted.Object, versions, "spec", "versions")
}

// StorePatch returns the JSON patch with which a CustomResourceDefinition stores objects in the version that its bundle says, or nil if it does, or if
// it waits for another converter.
func StorePatch(live *apiextensionsv1.CustomResourceDefinition, converter string) ([]byte, error) {
	by := live.Annotations[annotationConverter]
	named := func(one apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return one.Name == live.Annotations[AnnotationStored]
	}
	if by != "" && by != converter || !slices.ContainsFunc(live.Spec.Versions, named) {
		return nil, nil
	}
	patch := []map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": live.ResourceVersion},
		{"op": "remove", "path": "/metadata/annotations/" + AnnotationStored},
	}
	if by != "" {
		patch = append(patch, map[string]any{"op": "remove", "path": "/metadata/annotations/" + annotationConverter})
	}
	for i, one := range live.Spec.Versions {
		patch = append(patch, map[string]any{"op": "replace", "path": fmt.Sprintf("/spec/versions/%d/storage", i), "value": named(one)})
	}
	return json.Marshal(patch)
}
