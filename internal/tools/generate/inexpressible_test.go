package generate_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/generate"
)

// A type that no schema can express is reported at its field, with a solution, and nothing is written.
func TestTypesThatNoSchemaCanExpress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		field, more string
		want        []string
	}{
		"a struct within itself": {
			"Next *Node `json:\"next\"`", "type Node struct {\n\tChildren []Node `json:\"children\"`\n}\n",
			[]string{"types.go:25:2: Node.Children: Page.spec.next.children[] is a Node within a Node", "+kubebuilder:validation:Schemaless"},
		},
		"two structs within each other, by a map": {
			"A A `json:\"a\"`", "type A struct {\n\tB map[string]B `json:\"b\"`\n}\n\ntype B struct {\n\tBack *A `json:\"back\"`\n}\n",
			[]string{"types.go:29:2: B.Back: Page.spec.a.b{}.back is a A within a A"},
		},
		"pointers embedded in each other": {
			"A A `json:\"a\"`", "type A struct {\n\t*B `json:\",inline\"`\n}\n\ntype B struct {\n\t*A `json:\",inline\"`\n}\n",
			[]string{"types.go:29:2: ", "Page.spec.a is a A within a A"},
		},
		"a list within itself": {
			"A A `json:\"a\"`", "type A []A\n",
			[]string{"types.go:24:6: ", "Page.spec.a[] is a A within a A"},
		},
		"a map by numbers":       {"A map[int]string `json:\"a\"`", "", []string{"types.go:22:8: PageSpec.A: ", "map keys must be strings", "map[string]"}},
		"a map of functions":     {"A map[string]func() `json:\"a\"`", "", []string{"types.go:22:15: PageSpec.A: ", "a function cannot be expressed"}},
		"a map of maps of chans": {"A map[string]map[string]chan int `json:\"a\"`", "", []string{"PageSpec.A: a channel cannot be expressed"}},
		"an interface":           {"A interface{ Do() } `json:\"a\"`", "", []string{"types.go:22:4: PageSpec.A: an interface cannot be expressed", "apiextensionsv1.JSON"}},
		"any":                    {"A any `json:\"a\"`", "", []string{"types.go:22:4: PageSpec.A: ", "an interface cannot be expressed", "apiextensionsv1.JSON"}},
		"a named interface":      {"A Doer `json:\"a\"`", "type Doer interface{ Do() }\n", []string{"types.go:24:11: Doer: an interface cannot be expressed"}},
		"a list of any":          {"A []any `json:\"a\"`", "", []string{"PageSpec.A: ", "an interface cannot be expressed"}},
		"a function":             {"A func() `json:\"a\"`", "", []string{"types.go:22:4: PageSpec.A: a function cannot be expressed"}},
		"a channel":              {"A chan int `json:\"a\"`", "", []string{"types.go:22:4: PageSpec.A: a channel cannot be expressed"}},
		"a complex number":       {"A complex128 `json:\"a\"`", "", []string{"types.go:22:4: PageSpec.A: ", "complex128", "cannot be expressed"}},
		"a generic type":         {"A Box[string] `json:\"a\"`", "type Box[T any] struct {\n\tValue T `json:\"value\"`\n}\n", []string{"types.go:22:4: PageSpec.A: ", "a generic type", "a type of its own"}},
		"a list of a generic":    {"A []Pair[string, int] `json:\"a\"`", "type Pair[T, U any] struct {\n\tA T `json:\"a\"`\n\tB U `json:\"b\"`\n}\n", []string{"PageSpec.A: ", "a generic type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := strings.Replace(types, "Title string `json:\"title\"`", test.field, 1)
			source = strings.Replace(source, "	// +kubebuilder:validation:MinLength=1\n", "	//\n", 1)
			dir := project(t, files{"main.go": mainFile, "api/v1/types.go": source + test.more})
			before := tree(t, dir)
			_, err := generate.Plan(t.Context(), dir, generate.Options{})
			if err == nil {
				t.Fatal("it succeeded")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not told:\n%v", want, err)
				}
			}
			same(t, before, tree(t, dir))
		})
	}
}

// A field without a schema may have any type, also a recursive one.
func TestAFieldWithoutASchemaMayBeEndless(t *testing.T) {
	t.Parallel()
	source := strings.Replace(types, "	// +kubebuilder:validation:MinLength=1\n	Title string `json:\"title\"`",
		"	// +kubebuilder:validation:Schemaless\n	// +kubebuilder:pruning:PreserveUnknownFields\n	Next *Node `json:\"next\"`", 1)
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": source + "type Node struct {\n\tChildren []Node `json:\"children\"`\n}\n"})
	content, _ := plan(t, dir).Changes.Content("config/crd/web.example.com_pages.yaml")
	if !strings.Contains(string(content), "x-kubernetes-preserve-unknown-fields: true") {
		t.Errorf("the definition is %s", content)
	}
}
