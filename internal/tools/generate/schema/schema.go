// Package schema generates JSON schemas from CustomResourceDefinitions, so that editors can complete and validate objects.
//
// The schemas use draft 7, which all editors support. Constructs that differ in the definitions' OpenAPI are translated:
// integer-or-string, nullable, exclusive bounds, sets, embedded objects. A field that the definition does not have is an
// error in an editor, because the API server would drop it. What a schema cannot express (rules in CEL) is added to the
// description. See [Files].
package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Combined is the name of the schema for files with objects of all kinds, including those of other projects.
const Combined = "all.json"

// Mark is in every schema, so that schemas that are no longer needed are recognized.
const Mark = "Written by operon generate --schemas"

// draft is the version of JSON schema that is used.
const draft = "http://json-schema.org/draft-07/schema#"

// Files returns the schemas by path: GROUP/KIND_VERSION.json, with the kind in lower case, for each served version, and
// [Combined]. The same definitions result in the same files, byte for byte.
//
// A file names its schema for the editor:
//
//	# yaml-language-server: $schema=../schemas/web.example.com/page_v1.json
//
// It fails if a definition is incomplete or contains an invalid value.
func Files(definitions []*apiextensionsv1.CustomResourceDefinition) (map[string][]byte, error) {
	files := map[string][]byte{}
	var all []kind
	var problems []error
	for _, definition := range definitions {
		if definition.Spec.Group == "" || definition.Spec.Names.Kind == "" {
			problems = append(problems, fmt.Errorf("CustomResourceDefinition %q: it needs a group and a kind to have a schema", definition.Name))
			continue
		}
		for i := range definition.Spec.Versions {
			version := &definition.Spec.Versions[i]
			if !version.Served {
				continue
			}
			k := kind{group: definition.Spec.Group, name: definition.Spec.Names.Kind, version: version.Name}
			content, err := k.schema(version)
			files[k.path()], all = content, append(all, k)
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil || len(all) == 0 {
		return nil, err
	}
	combined, err := combine(all)
	files[Combined] = combined
	return files, err
}

// kind is one version of a kind.
type kind struct{ group, name, version string }

func (k kind) apiVersion() string { return k.group + "/" + k.version }

func (k kind) path() string {
	return fmt.Sprintf("%s/%s_%s.json", k.group, strings.ToLower(k.name), k.version)
}

// object is a JSON object under construction.
type object = map[string]any

func (k kind) schema(version *apiextensionsv1.CustomResourceDefinitionVersion) ([]byte, error) {
	from := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		from = version.Schema.OpenAPIV3Schema
	} else {
		from.XPreserveUnknownFields = new(true)
	}
	made, err := translate(from, closed)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.apiVersion(), k.name, err)
	}
	made["$schema"] = draft
	made["title"] = k.name
	made["required"] = append([]string{"apiVersion", "kind", "metadata"}, from.Required...)
	properties, _ := made["properties"].(object)
	if properties == nil {
		properties = object{}
		made["properties"] = properties
	}
	properties["apiVersion"] = object{"const": k.apiVersion()}
	properties["kind"] = object{"const": k.name}
	properties["metadata"] = metadata(properties["metadata"])
	return encode(made)
}

// metadata returns the schema of the metadata of any object, with the additions of the definition.
func metadata(said any) object {
	texts := object{"type": "object", "additionalProperties": object{"type": "string"}}
	made := object{
		"type": "object",
		"properties": object{
			"name":         object{"type": "string"},
			"generateName": object{"type": "string"},
			"namespace":    object{"type": "string"},
			"labels":       texts,
			"annotations":  texts,
		},
		"anyOf": []any{object{"required": []string{"name"}}, object{"required": []string{"generateName"}}},
	}
	more, _ := said.(object)
	fields, _ := more["properties"].(object)
	for name, field := range fields {
		made["properties"].(object)[name] = field
	}
	return made
}

// combine returns a schema that selects the schema by an object's apiVersion and kind. Objects of other kinds, which may be
// in the same file, are not checked.
func combine(kinds []kind) ([]byte, error) {
	slices.SortFunc(kinds, func(a, b kind) int { return cmp.Compare(a.path(), b.path()) })
	var rules []any
	for _, k := range kinds {
		rules = append(rules, object{
			"if": object{
				"required":   []string{"apiVersion", "kind"},
				"properties": object{"apiVersion": object{"const": k.apiVersion()}, "kind": object{"const": k.name}},
			},
			"then": object{"$ref": k.path()},
		})
	}
	return encode(object{"$schema": draft, "allOf": rules})
}

// encode writes a schema in a readable form: "<" is not escaped, and the keys are sorted.
func encode(made object) ([]byte, error) {
	made["$comment"] = Mark
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(made)
	return text.Bytes(), err
}
