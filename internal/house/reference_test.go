package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// references are the pages that list every name of a category in the code. Each pattern is matched against complete string
// constants. If named is set, only constants whose declared name matches it are checked.
var references = []struct {
	page     string
	constant *regexp.Regexp
	named    *regexp.Regexp
}{
	{"docs/reference/annotations.md", regexp.MustCompile(`^([a-z]+\.)?operon\.dev/[a-z-]*$`), nil},
	{"docs/reference/metrics.md", regexp.MustCompile(`^operon_[a-z_]+_(total|seconds|objects)$|^operon_(objects|watches)$`), nil},
	{"docs/reference/environment.md", regexp.MustCompile(`^OPERON_[A-Z_]+$`), nil},
	{"docs/olm.md", regexp.MustCompile(`^[A-Z][A-Za-z]+$`), regexp.MustCompile(`^(Reason|reason|Condition)[A-Z]`)},
	{"docs/troubleshooting.md", regexp.MustCompile(`^[A-Z][A-Za-z]+$`), regexp.MustCompile(`^[Rr]eason[A-Z]`)},
}

// TestReferencesAreComplete fails if the code has a key, a metric, a variable or a reason that its page does not list.
func TestReferencesAreComplete(t *testing.T) {
	t.Parallel()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range references {
		content, err := os.ReadFile(filepath.Join(root, reference.page))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for dir, p := range all {
			if strings.Contains(dir, "testdata") || strings.HasPrefix(dir, "bench") || strings.HasPrefix(dir, "examples") ||
				strings.HasPrefix(strings.TrimPrefix(dir, "internal/"), "olm") != (reference.page == "docs/olm.md") {
				continue
			}
			if reference.page == "docs/troubleshooting.md" && (strings.HasPrefix(dir, "cluster/") || strings.HasPrefix(dir, "internal/tools/olm")) {
				continue // reasons of pods, and of the lifecycle manager
			}
			for value := range constants(p, reference.named) {
				if !reference.constant.MatchString(value) {
					continue
				}
				found++
				if !strings.Contains(string(content), "`"+value+"`") {
					t.Errorf("%s does not list %s of package %s", reference.page, value, dir)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing in the code matches %s", reference.page, reference.constant)
		}
	}
}

// constants returns the string literals of a package, or only the ones assigned to matching names.
func constants(p *pkg, named *regexp.Regexp) map[string]bool {
	found := map[string]bool{}
	collect := func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				found[value] = true
			}
		}
		return true
	}
	for _, file := range p.files {
		if named == nil {
			ast.Inspect(file, collect)
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && named.MatchString(spec.Names[0].Name) {
				for _, value := range spec.Values {
					ast.Inspect(value, collect)
				}
			}
			return true
		})
	}
	return found
}
