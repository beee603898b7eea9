package operators_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

var rewrite = flag.Bool("rewrite", false, "write the table of docs/prove/gallery.md anew")

// Every entry says all that a tester needs, and its files are there and make sense.
func TestEntriesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	correct, wrong := 0, 0
	for _, o := range operators.All() {
		if seen[o.Name] || o.Name == "" || o.About == "" || o.Setup == nil {
			t.Errorf("%q: the name is taken, or something is missing", o.Name)
		}
		seen[o.Name] = true
		if o.Correct {
			correct++
			if o.Property != "" || o.Class != "" || o.Needs != nil {
				t.Errorf("%s is correct and says what is wrong", o.Name)
			}
		} else {
			wrong++
			if o.Property == "" || o.Class == "" || o.Model == "" || len(o.Needs) == 0 {
				t.Errorf("%s does not say what is wrong", o.Name)
			}
			if (o.Both == "") != (len(o.Also) == 0) {
				t.Errorf("%s may be found by %v, and the reason is %q", o.Name, o.Also, o.Both)
			}
		}
		for _, path := range append([]string{o.Samples, o.Role}, o.CRDs...) {
			if objects, err := project.ReadFile(gallery, path); path != "" && (err != nil || len(objects) == 0) {
				t.Errorf("%s: %s: %v", o.Name, path, err)
			}
		}
	}
	if correct < 22 || wrong < 46 {
		t.Errorf("only %d correct ones and %d others", correct, wrong)
	}
}

func TestFindSaysWhatItDidNotFind(t *testing.T) {
	t.Parallel()
	if o, err := operators.Find("orphan"); err != nil || o.Name != "orphan" {
		t.Errorf("%v, %v", o.Name, err)
	}
	if _, err := operators.Find("nobody"); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Error(err)
	}
}

// The page for users has each operator, as it is here. With -rewrite it gets them.
func TestPageListsTheGallery(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- begin of the gallery -->\n", "<!-- end of the gallery -->"
	path := filepath.Join(gallery, "../../../docs/prove/gallery.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), begin)
	_, after, whole := strings.Cut(rest, end)
	if !whole {
		t.Fatalf("%s has no place for the gallery", path)
	}
	want := before + begin + tables() + end + after
	if want == string(page) {
		return
	}
	if !*rewrite {
		t.Fatalf("%s is not what the gallery is: run this test with -rewrite", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tables are the gallery in Markdown.
func tables() string {
	var wrong, correct strings.Builder
	for _, o := range operators.All() {
		if o.Correct {
			fmt.Fprintf(&correct, "| `%s` | %s |\n", o.Name, o.About)
			continue
		}
		var needs []string
		for _, need := range o.Needs {
			needs = append(needs, string(need))
		}
		fmt.Fprintf(&wrong, "| `%s` | %s | %s | `%s` | %s |\n", o.Name, o.About, o.Model, o.Property, strings.Join(needs, ", "))
	}
	return "\n| operator | bug | modeled on | invariant | shows by |\n| --- | --- | --- | --- | --- |\n" + wrong.String() +
		"\n| correct operator | behavior |\n| --- | --- |\n" + correct.String() + "\n"
}
