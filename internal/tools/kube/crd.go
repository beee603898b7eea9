package kube

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRDs is the resource of CustomResourceDefinitions.
var CRDs = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// IsCRD reports whether an object is a CustomResourceDefinition.
func IsCRD(object *unstructured.Unstructured) bool {
	return object.GetKind() == "CustomResourceDefinition"
}

// CRD is a CustomResourceDefinition.
type CRD struct {
	apiextensionsv1.CustomResourceDefinition
}

// ReadCRD decodes a CustomResourceDefinition. The error names it.
func ReadCRD(object *unstructured.Unstructured) (*CRD, error) {
	crd := &CRD{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd.CustomResourceDefinition); err != nil {
		return nil, fmt.Errorf("decode CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	return crd, nil
}

// Defines returns the kind that it defines.
func (c *CRD) Defines() schema.GroupKind {
	return schema.GroupKind{Group: c.Spec.Group, Kind: c.Spec.Names.Kind}
}

// Resource returns the resource of the objects in a version.
func (c *CRD) Resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: c.Spec.Group, Version: version, Resource: c.Spec.Names.Plural}
}

// Served returns the served versions, in the order of the definition.
func (c *CRD) Served() []schema.GroupVersionResource {
	var served []schema.GroupVersionResource
	for _, version := range c.Spec.Versions {
		if version.Served {
			served = append(served, c.Resource(version.Name))
		}
	}
	return served
}

// Storage returns the name of the version in which objects are stored, or "" if no version is marked.
func (c *CRD) Storage() string { return Storage(&c.CustomResourceDefinition) }

// Storage is like [CRD.Storage].
func Storage(definition *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// Readable returns the version in which to read all objects: the stored one, which needs no conversion, or the first served
// one if the stored one is not served. It returns false if no version is served.
func (c *CRD) Readable() (schema.GroupVersionResource, bool) {
	served := c.Served()
	for _, resource := range served {
		if resource.Version == c.Storage() {
			return resource, true
		}
	}
	if len(served) == 0 {
		return schema.GroupVersionResource{}, false
	}
	return served[0], true
}

// Schema returns the schema of a version, or nil if it does not have one.
func (c *CRD) Schema(version string) *apiextensionsv1.JSONSchemaProps {
	for _, one := range c.Spec.Versions {
		if one.Name == version && one.Schema != nil {
			return one.Schema.OpenAPIV3Schema
		}
	}
	return nil
}

// ConvertedBy returns the Service of the conversion webhook, or nil if there is none.
func (c *CRD) ConvertedBy() *apiextensionsv1.ServiceReference {
	if c.Spec.Conversion == nil || c.Spec.Conversion.Webhook == nil || c.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	return c.Spec.Conversion.Webhook.ClientConfig.Service
}

// established returns an error that describes why the definition is not served, according to its conditions.
func (c *CRD) established() error {
	why := fmt.Errorf("the API server has not processed it yet")
	for _, condition := range c.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
		if condition.Status == apiextensionsv1.ConditionFalse {
			why = fmt.Errorf("%s: %s", condition.Reason, condition.Message)
		}
	}
	return why
}
