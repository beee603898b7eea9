package reference_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/tools/generate/reference"
	"github.com/operon-framework/operon/internal/tools/project"
)

var rewrite = flag.Bool("rewrite", false, "write the pages to testdata")

func shop(t *testing.T) reference.Input {
	t.Helper()
	objects, err := project.ReadFile("testdata", "shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return inputOf(t, objects)
}

func inputOf(t *testing.T, objects []project.Object) reference.Input {
	t.Helper()
	var input reference.Input
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			input.Samples = append(input.Samples, object.Unstructured)
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
			t.Fatalf("%s: %v", object.Place(), err)
		}
		input.Definitions = append(input.Definitions, definition)
	}
	return input
}

func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := reference.Files(shop(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"shop.example.com_v1.md", "shop.example.com_v1beta1.md"} // v1alpha1 is not served
	if got := slices.Sorted(maps.Keys(pages)); !slices.Equal(got, want) {
		t.Fatalf("the pages are %q, want %q", got, want)
	}
	for name, page := range pages {
		file := filepath.Join("testdata", name)
		if *rewrite {
			if err := os.WriteFile(file, page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(page) != string(golden) {
			t.Errorf("%s is not what it was; look at the difference after go test -run TestPages ./generate/reference -rewrite", file)
		}
	}
}

var (
	links    = regexp.MustCompile(`\]\(#([^)]*)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Every link on a page leads to exactly one heading, also for the examples' APIs.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	objects, err := project.ReadFile("testdata", "shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob("../../../../examples/*/config/crd")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d examples, %v", len(folders), err)
	}
	for _, folder := range folders {
		if strings.Contains(folder, "mysqlcluster-helm") {
			continue // another example has the same kind
		}
		read, err := project.ReadFolder(".", folder)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, read...)
	}
	pages, err := reference.Files(inputOf(t, objects))
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range pages {
		places := map[string]int{}
		for _, heading := range headings.FindAllStringSubmatch(string(page), -1) {
			text := strings.ToLower(heading[1])
			places[regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(text, "")]++
		}
		for _, link := range links.FindAllStringSubmatch(string(page), -1) {
			if places[link[1]] != 1 {
				t.Errorf("%s: #%s leads to %d places", name, link[1], places[link[1]])
			}
		}
	}
}

func TestWhatIsNoDefinition(t *testing.T) {
	t.Parallel()
	input := reference.Input{Definitions: []*apiextensionsv1.CustomResourceDefinition{{}}}
	input.Definitions[0].Name = "half"
	pages, err := reference.Files(input)
	if err == nil || !strings.Contains(err.Error(), `"half": it needs a group, a kind and a version`) {
		t.Errorf("%d pages, %v", len(pages), err)
	}
}
