package aggregated

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definitions are the OpenAPI definitions of Go types, worked out from the types themselves, with those of
// the metadata that all objects have as Kubernetes publishes them.
func definitions(of []any) openapicommon.GetOpenAPIDefinitions {
	return func(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
		d := &defining{ref: ref, known: maps.Clone(generated.GetOpenAPIDefinitions(ref))}
		for _, one := range of {
			d.define(reflect.TypeOf(one).Elem())
		}
		return d.known
	}
}

// published is the name under which a definition is published, with the kinds that it is of. The library
// asks by the name of the Go type, and knows kinds by the other.
func published(names *openapi.DefinitionNamer) func(string) (string, spec.Extensions) {
	return func(name string) (string, spec.Extensions) {
		if strings.Contains(name, "/") { // others have a published name of their own already
			name = util.ToRESTFriendlyName(name)
		}
		return names.GetDefinitionName(name)
	}
}

// describe describes types in both versions of OpenAPI.
func describe(config *server.Config, scheme *runtime.Scheme, types []any) {
	names, all := openapi.NewDefinitionNamer(scheme), definitions(types)
	v2, v3 := server.DefaultOpenAPIConfig(all, names), server.DefaultOpenAPIV3Config(all, names)
	v2.GetDefinitionName, v3.GetDefinitionName = published(names), published(names)
	v3.Definitions = all(func(name string) spec.Ref {
		published, _ := v3.GetDefinitionName(name)
		return spec.MustCreateRef("#/components/schemas/" + openapicommon.EscapeJsonPointer(published))
	})
	config.OpenAPIConfig, config.OpenAPIV3Config = v2, v3
}

// defining is the work on one set of definitions.
type defining struct {
	ref   openapicommon.ReferenceCallback
	known map[string]openapicommon.OpenAPIDefinition
	uses  []string // definitions that the one in work refers to
}

// define defines a struct and returns its name.
func (d *defining) define(t reflect.Type) string {
	name := util.GetCanonicalTypeName(reflect.New(t).Interface())
	if _, known := d.known[name]; known {
		return name
	}
	d.known[name] = openapicommon.OpenAPIDefinition{} // one that refers to itself ends here
	outer := d.uses
	d.uses = nil
	schema := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{}}}
	d.fields(t, &schema)
	d.known[name] = openapicommon.OpenAPIDefinition{Schema: schema, Dependencies: d.uses}
	d.uses = outer
	return name
}

// fields adds the fields of a struct as JSON shows them.
func (d *defining) fields(t reflect.Type, to *spec.Schema) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case name == "" && f.Anonymous:
			d.fields(deref(f.Type), to)
			continue
		case name == "":
			name = f.Name
		}
		to.Properties[name] = d.schema(f.Type)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") && f.Type.Kind() != reflect.Pointer {
			to.Required = append(to.Required, name)
		}
	}
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// telling types say themselves what they are in OpenAPI, as times and quantities do.
type telling interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

var marshals = reflect.TypeFor[json.Marshaler]()

// schema is that of a field.
func (d *defining) schema(t reflect.Type) spec.Schema {
	t = deref(t)
	if one, ok := reflect.New(t).Interface().(telling); ok {
		return plain(strings.Join(one.OpenAPISchemaType(), ""), one.OpenAPISchemaFormat())
	}
	if t.Kind() == reflect.Struct {
		return d.structSchema(t)
	}
	switch t.Kind() {
	case reflect.String:
		return plain("string", "")
	case reflect.Bool:
		return plain("boolean", "")
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint8, reflect.Uint16:
		return plain("integer", "int32")
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return plain("integer", "int64")
	case reflect.Float32, reflect.Float64:
		return plain("number", "double")
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return plain("string", "byte")
		}
		return *spec.ArrayProperty(new(d.schema(t.Elem())))
	case reflect.Map:
		return *spec.MapProperty(new(d.schema(t.Elem())))
	}
	return spec.Schema{} // anything
}

func (d *defining) structSchema(t reflect.Type) spec.Schema {
	_, known := d.known[util.GetCanonicalTypeName(reflect.New(t).Interface())]
	if !known && (t.Implements(marshals) || reflect.PointerTo(t).Implements(marshals)) {
		return spec.Schema{} // it writes itself in a way that its fields do not tell
	}
	name := d.define(t)
	d.uses = append(d.uses, name)
	return spec.Schema{SchemaProps: spec.SchemaProps{Default: map[string]any{}, Ref: d.ref(name)}}
}

func plain(kind, format string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{kind}, Format: format}}
}
