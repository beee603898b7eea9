package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// skips are the files whose tests may skip directly, with the reason. All other tests that a machine may be unable to run call
// testaid.Lacks, which fails in the gate, in which everything is installed.
var skips = map[string]string{
	"internal/testing/testaid/lacks.go":                        "it is testaid.Lacks",
	"internal/testing/testaid/slow.go":                         "it is testaid.Slow",
	"cluster/internal/testaid/testaid.go":                      "it is testaid.Lacks",
	"prove/gallery_test.go":                                    "not with the race detector; the gate runs it without",
	"test/daytwo_test.go":                                      "a shallow clone has no older version to build, and the gate does not choose how it is cloned",
	"internal/runtime/reconcile/kill_test.go":                  "a helper process of other tests",
	"examples/memcached/containers_test.go":                    "its own lacks, as examples import no internal package",
	"examples/store/kill_test.go":                              "a helper process of other tests",
	"operontest/golden_test.go":                                "only without -rewrite, and a test that another one runs",
	"internal/tools/generate/older_test.go":                    "takes a minute and a network for each version; run by hand",
	"internal/tools/ports/ports_linux_test.go":                 "kernels before 6.3 lack the socket option, and the gate does not choose its kernel",
	"cluster/internal/node/controllers_linux_internal_test.go": "depends on how the machine's cgroups are mounted; .ci/vm has the other way",
	"external/record_test.go":                                  "input of a fuzz test that is out of scope",
	"internal/prove/workload/crd/crd_test.go":                  "input of a fuzz test that is out of scope",
	"internal/prove/normalize/state_test.go":                   "input of a fuzz test that is out of scope",
	"internal/core/plan/live_test.go":                          "input of a fuzz test that is out of scope",
}

// TestSkipsHaveAReason finds tests that would be skipped silently on a machine that lacks what they need.
func TestSkipsHaveAReason(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, p := range all {
		files = append(append(files, p.files...), p.tests...)
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Skip" && method.Sel.Name != "Skipf" && method.Sel.Name != "SkipNow" {
				return true
			}
			of, ok := method.X.(*ast.Ident)
			if !ok || of.Name != "t" && of.Name != "b" && of.Name != "f" {
				return true
			}
			name := fset.Position(call.Pos()).Filename
			name = strings.TrimPrefix(filepath.ToSlash(name), root+"/")
			found[name] = true
			if skips[name] == "" {
				t.Errorf("%s: call testaid.Lacks, so that the gate fails if the test cannot run, or list the file with its reason in skips_test.go", place(call.Pos()))
			}
			return true
		})
	}
	for name := range skips {
		if !found[name] {
			t.Errorf("%s skips no test: remove it from skips_test.go", name)
		}
	}
}

// TestSlowTestsAreRun checks that `make slow` runs the tests that -short skips.
func TestSlowTestsAreRun(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^\t\$\(call go_test,(.+),-run '\^\(([\w|]+)\)\$\$'\)$`).FindSubmatch(makefile)
	if match == nil {
		t.Fatal("the target slow of the Makefile has another form")
	}
	dirs, names := strings.Fields(string(match[1])), strings.Split(string(match[2]), "|")
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	var wantNames, wantDirs []string
	for _, p := range all {
		for _, file := range p.tests {
			for _, declaration := range file.Decls {
				if f, ok := declaration.(*ast.FuncDecl); ok && callsSlow(f) {
					wantNames, wantDirs = append(wantNames, f.Name.Name), append(wantDirs, "./"+p.dir)
				}
			}
		}
	}
	for _, list := range []*[]string{&names, &dirs, &wantNames, &wantDirs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if !slices.Equal(names, wantNames) || !slices.Equal(dirs, wantDirs) {
		t.Errorf("make slow runs %v of %v, want %v of %v, which call testaid.Slow", names, dirs, wantNames, wantDirs)
	}
}

func callsSlow(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		called, ok := n.(*ast.SelectorExpr)
		if !ok || called.Sel.Name != "Slow" {
			return true
		}
		of, ok := called.X.(*ast.Ident)
		found = found || ok && of.Name == "testaid"
		return true
	})
	return found
}
