package bundle

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon/internal/tools/project"
)

// crdV1Beta1 is the API version of most published CustomResourceDefinitions. API servers since Kubernetes 1.22 do not serve it.
const crdV1Beta1 = "apiextensions.k8s.io/v1beta1"

// definitions converts CustomResourceDefinitions, with the conversions of the API server.
var definitions = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

// convertCRD converts a definition from v1beta1, and lists the differences. The result accepts all objects that the original accepts, and
// drops no field of them. It fails if API servers reject the result.
func convertCRD(object project.Object) (*apiextensionsv1.CustomResourceDefinition, []string, error) {
	old := &v1beta1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, old); err != nil {
		return nil, nil, fmt.Errorf("decode CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	old.Status = v1beta1.CustomResourceDefinitionStatus{}
	definitions.Default(old)
	internal, crd := &apiextensions.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := definitions.Convert(old, internal, nil); err != nil {
		return nil, nil, fmt.Errorf("convert CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	if err := definitions.Convert(internal, crd, nil); err != nil {
		return nil, nil, fmt.Errorf("convert CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	changes := append(makeStructural(crd), loosen(crd)...)
	if wrong := validate(crd); len(wrong) > 0 {
		return nil, nil, fmt.Errorf("CustomResourceDefinition %s cannot be converted to %s: %w", crd.Name, apiextensionsv1.SchemeGroupVersion, wrong.ToAggregate())
	}
	return crd, changes, nil
}

// validate returns the reasons why an API server rejects a new definition.
func validate(crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	crd = crd.DeepCopy()
	definitions.Default(crd)
	crd.Status.StoredVersions = nil
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, version.Name)
		}
	}
	internal := &apiextensions.CustomResourceDefinition{}
	if err := definitions.Convert(crd, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	// A definition without exactly one storage version has an error about that, and a consequential error about the stored versions.
	return slices.DeleteFunc(validation.ValidateCustomResourceDefinition(context.Background(), internal), func(e *field.Error) bool {
		return e.Field == "status.storedVersions"
	})
}

// makeStructural changes the schemas of a definition so that v1 accepts them, without changing their meaning: v1 requires a schema, and
// types in it. Without preserveUnknownFields, which v1 does not have, unknown fields are dropped; so each object in the schemas preserves
// its unknown fields. It returns a description of the changes.
func makeStructural(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var changes []string
	preserved := crd.Spec.PreserveUnknownFields
	crd.Spec.PreserveUnknownFields = false
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			acceptEverything(version)
			changes = append(changes, fmt.Sprintf("version %s has a schema that accepts every object, because v1 requires one", version.Name))
			continue
		}
		s := &structural{preserve: preserved}
		s.root(version.Schema.OpenAPIV3Schema)
		if s.typed > 0 {
			changes = append(changes, fmt.Sprintf("version %s: %d schemas got the type that they imply", version.Name, s.typed))
		}
		if s.preserving > 0 {
			changes = append(changes, fmt.Sprintf("version %s: %d objects preserve unknown fields, as preserveUnknownFields did for all", version.Name, s.preserving))
		}
	}
	return changes
}

// structural counts its changes to a schema.
type structural struct {
	preserve          bool
	typed, preserving int
}

// root walks the schema of a whole object, except its metadata, which API servers check themselves.
func (s *structural) root(schema *apiextensionsv1.JSONSchemaProps) {
	metadata, has := schema.Properties["metadata"]
	delete(schema.Properties, "metadata")
	s.walk(schema)
	if has {
		schema.Properties["metadata"] = metadata
	}
}

func (s *structural) walk(schema *apiextensionsv1.JSONSchemaProps) {
	s.setType(schema)
	if s.preserve && schema.Type == "object" && schema.AdditionalProperties == nil && schema.XPreserveUnknownFields == nil {
		schema.XPreserveUnknownFields = new(true)
		s.preserving++
	}
	for name, below := range schema.Properties {
		s.walk(&below)
		schema.Properties[name] = below
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		s.walk(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		s.walk(schema.AdditionalProperties.Schema)
	}
}

// setType sets the type of a schema without one.
func (s *structural) setType(schema *apiextensionsv1.JSONSchemaProps) {
	if schema.Type != "" || schema.XIntOrString || schema.XPreserveUnknownFields != nil {
		return
	}
	s.typed++
	switch {
	case schema.Format == "int-or-string" || isIntOrString(schema.AnyOf) || isIntOrString(schema.OneOf):
		schema.XIntOrString, schema.Format = true, ""
		schema.AnyOf, schema.OneOf = without(schema.AnyOf), without(schema.OneOf)
	case len(schema.Properties) > 0 || schema.AdditionalProperties != nil || len(schema.Required) > 0:
		schema.Type = "object"
	case schema.Items != nil:
		schema.Type = "array"
	default:
		schema.XPreserveUnknownFields = new(true) // any value
	}
}

// isIntOrString reports whether alternatives are the two types of an IntOrString, which v1 allows only in another form.
func isIntOrString(alternatives []apiextensionsv1.JSONSchemaProps) bool {
	var types []string
	for _, one := range alternatives {
		types = append(types, one.Type)
	}
	slices.Sort(types)
	return slices.Equal(types, []string{"integer", "string"}) || slices.Equal(types, []string{"number", "string"})
}

func without(alternatives []apiextensionsv1.JSONSchemaProps) []apiextensionsv1.JSONSchemaProps {
	if isIntOrString(alternatives) {
		return nil
	}
	return alternatives
}
