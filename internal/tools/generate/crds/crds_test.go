package crds_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/crds"
)

// kept is the output of a generator, by file. It is a genall.OutputRule.
type kept map[string]*bytes.Buffer

func (k kept) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	k[path] = &bytes.Buffer{}
	return writer{k[path]}, nil
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

func contextOf(t *testing.T, dir string) *genall.GenerationContext {
	t.Helper()
	roots, err := loader.LoadRoots(dir)
	if err != nil {
		t.Fatal(err)
	}
	registry := &markers.Registry{}
	if err := (crds.Generator{}).RegisterMarkers(registry); err != nil {
		t.Fatal(err)
	}
	return &genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry}, Roots: roots, OutputRule: kept{},
		Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crds.Generator{}.CheckFilter()}},
	}
}

// spec returns the schema of the spec that is generated for the type Lamp.
func spec(t *testing.T, ctx *genall.GenerationContext, generator genall.Generator) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	out := kept{}
	ctx.OutputRule = out
	if err := generator.Generate(ctx); err != nil {
		t.Fatal(err)
	}
	for _, root := range ctx.Roots {
		for _, problem := range root.Errors {
			t.Error(problem)
		}
	}
	var made apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(out["gates.example.com_lamps.yaml"].Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	return made.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// A gated field exists, and is required, only if its feature gate is enabled. Changes of the syntax trees are reverted for
// later generators.
func TestGates(t *testing.T) {
	t.Parallel()
	ctx := contextOf(t, "./testdata/gated")
	for _, one := range []struct {
		gates            []string
		colour, smelling bool
	}{{nil, false, false}, {[]string{"Colours"}, true, false}, {[]string{"Colours", "Smell"}, true, true}} {
		made := spec(t, ctx, crds.Generator{Gates: one.gates})
		_, colour := made.Properties["colour"]
		_, smell := made.Properties["smell"]
		required := strings.Contains(strings.Join(made.Required, " "), "colour")
		if colour != one.colour || smell != one.smelling || required != one.colour {
			t.Errorf("gates %q: colour %t, required %t, smell %t", one.gates, colour, required, smell)
		}
	}
	if made := spec(t, ctx, crd.Generator{}); len(made.Properties) != 4 || len(made.Properties["note"].Description) == 0 {
		t.Errorf("afterwards there is %v", made)
	}
}

func TestAGateThatNoFieldNames(t *testing.T) {
	t.Parallel()
	err := crds.Generator{Gates: []string{"Colors"}}.Generate(contextOf(t, "./testdata/gated"))
	want := `no field has the feature gate "Colors": there are Colours, Smell`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Descriptions in a type with the marker are cut after a sentence. Those of other types are not.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	made := spec(t, contextOf(t, "./testdata/gated"), crds.Generator{Gates: []string{"Colours", "Smell"}})
	for name, want := range map[string]string{
		"on": "On it is, or not.", "colour": "Colour of the light. Red, green or blue, and nothing else.", "note": "",
		"smell": "Smell of the light. Its own comment is not cut.",
	} {
		if got := made.Properties[name].Description; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got, want := made.Description, "Spec is what a lamp is to do."; got != want {
		t.Errorf("the type is %q, want %q", got, want)
	}
	if got, want := made.Properties["smell"].Properties["of"].Description, "Of what. This sentence stays, too."; got != want {
		t.Errorf("another type's field is %q, want %q", got, want)
	}
}
