package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
)

// Types of properties.
const (
	kindProperty            = "olm.gvk"
	requiredKindProperty    = "olm.gvk.required"
	packageProperty         = "olm.package"
	requiredPackageProperty = "olm.package.required"
	objectProperty          = "olm.bundle.object"
	csvProperty             = "olm.csv.metadata"
)

const csvKind = "ClusterServiceVersion"

// messages returns the message of a bundle in two parts: the fields that lists need, and the manifests. Fields that depend on the channel are
// not set.
func messages(p *catalog.Package, b *catalog.Bundle) (short, rest *registry.Bundle, err error) {
	short = &registry.Bundle{CsvName: b.Name, PackageName: p.Name, BundlePath: b.Image, Version: b.Version()}
	rest = &registry.Bundle{}
	for i, one := range b.Properties {
		if err := addProperty(one, short, rest); err != nil {
			return nil, nil, fmt.Errorf("bundle %s: properties[%d], %s: %w", b.Name, i, one.Type, err)
		}
	}
	if rest.CsvJson != "" {
		return short, rest, nil
	}
	for i, one := range b.Properties {
		if one.Type != csvProperty {
			continue
		}
		if rest.CsvJson, err = csvOf(p, b, one.Value); err != nil {
			return nil, nil, fmt.Errorf("bundle %s: properties[%d], %s: %w", b.Name, i, one.Type, err)
		}
		if len(rest.Object) == 0 {
			rest.Object = []string{rest.CsvJson}
		}
		break
	}
	return short, rest, nil
}

// addProperty adds a property to the message. Manifests are not properties for clients, who keep properties in annotations.
func addProperty(one catalog.Property, short, rest *registry.Bundle) error {
	text := valid(one.Value)
	switch one.Type {
	case objectProperty:
		return addObject(one.Value, rest)
	case csvProperty:
		return nil
	case kindProperty, requiredKindProperty:
		kind := &registry.GroupVersionKind{}
		var value schema.GroupVersionKind
		if err := json.Unmarshal(one.Value, &value); err != nil {
			return err
		}
		kind.Group, kind.Version, kind.Kind = value.Group, value.Version, value.Kind
		if one.Type == kindProperty {
			short.ProvidedApis = append(short.ProvidedApis, kind)
			break
		}
		short.RequiredApis = append(short.RequiredApis, kind)
		short.Dependencies = append(short.Dependencies, &registry.Dependency{Type: kindProperty, Value: text})
	case requiredPackageProperty:
		var value struct{ PackageName, VersionRange string }
		if err := json.Unmarshal(one.Value, &value); err != nil {
			return err
		}
		dependency, err := plainJSON(struct {
			PackageName string `json:"packageName"`
			Version     string `json:"version"`
		}{value.PackageName, value.VersionRange})
		if err != nil {
			return err
		}
		short.Dependencies = append(short.Dependencies, &registry.Dependency{Type: packageProperty, Value: dependency})
	}
	short.Properties = append(short.Properties, &registry.Property{Type: one.Type, Value: text})
	return nil
}

// addObject adds a manifest of a bundle.
func addObject(value json.RawMessage, rest *registry.Bundle) error {
	var manifest struct{ Data []byte }
	if err := json.Unmarshal(value, &manifest); err != nil {
		return err
	}
	content := manifest.Data
	if !json.Valid(content) {
		var err error
		if content, err = yaml.YAMLToJSON(manifest.Data); err != nil {
			return err
		}
	}
	var object struct{ Kind string }
	if err := json.Unmarshal(content, &object); err != nil {
		return fmt.Errorf("data is not an object: %w", err)
	}
	rest.Object = append(rest.Object, valid(content))
	if object.Kind == csvKind {
		rest.CsvJson = valid(content)
	}
	return nil
}

// csvOf returns the ClusterServiceVersion that the property olm.csv.metadata describes, without what it does not have.
func csvOf(p *catalog.Package, b *catalog.Bundle, value json.RawMessage) (string, error) {
	var shown map[string]any
	if err := json.Unmarshal(value, &shown); err != nil {
		return "", err
	}
	metadata := map[string]any{"name": b.Name}
	spec := map[string]any{"version": b.Version(), "install": map[string]any{"strategy": "deployment", "spec": map[string]any{"deployments": []any{}}}}
	for key, one := range shown {
		switch key {
		case "annotations", "labels":
			metadata[key] = one
		case "apiServiceDefinitions":
			spec["apiservicedefinitions"] = one
		case "crdDescriptions":
			spec["customresourcedefinitions"] = one
		default:
			spec[key] = one
		}
	}
	if spec["description"] == nil && p.Description != "" {
		spec["description"] = p.Description
	}
	if p.Icon != nil {
		spec["icon"] = []any{map[string]any{"base64data": base64.StdEncoding.EncodeToString(p.Icon.Data), "mediatype": p.Icon.MediaType}}
	}
	if len(b.RelatedImages) > 0 {
		spec["relatedImages"] = b.RelatedImages
	}
	return plainJSON(map[string]any{"apiVersion": "operators.coreos.com/v1alpha1", "kind": csvKind, "metadata": metadata, "spec": spec})
}

// plainJSON encodes a value without escaping ranges such as ">=1.0.0".
func plainJSON(value any) (string, error) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// valid returns a text for a message, which must be UTF-8.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }
