package derive_test

import (
	"flag"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/operon-framework/operon/internal/tools/rbac/derive"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// forms returns the projects in testdata/forms by directory, loaded once.
func forms(t *testing.T, files *token.FileSet) map[string]*genall.GenerationContext {
	t.Helper()
	all, _ := load(t, ".", derive.Generator{}, files, "./testdata/forms/...")
	var api *loader.Package
	for _, root := range all.Roots {
		if strings.HasSuffix(root.PkgPath, "/api") {
			api = root
		}
	}
	found := map[string]*genall.GenerationContext{}
	for _, root := range all.Roots {
		if root != api {
			one := *all
			one.Roots, one.OutputRule = []*loader.Package{api, root}, kept{}
			one.Collector = &markers.Collector{Registry: all.Collector.Registry}
			found[filepath.Base(root.PkgPath)] = &one
		}
	}
	return found
}

// For each way to write a composer, the derived Roles and notes match the golden file.
func TestForms(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for name, ctx := range forms(t, files) {
		if name == "plain" {
			ownRole(t, ctx, files)
			continue
		}
		var text strings.Builder
		generator := derive.Generator{Project: "project", Files: files, Shards: name == "asked", Note: func(note string) {
			text.WriteString("# " + strings.ReplaceAll(note, filepath.Join(here, "testdata", "forms", name)+"/", "") + "\n")
		}}
		if err := generator.Generate(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := text.String() + ctx.OutputRule.(kept)["role.yaml"].String()
		golden := filepath.Join("testdata", "forms", name, "role.golden")
		if *rewrite {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want := readFile(t, golden); got != want {
			t.Errorf("%s (-rewrite rewrites): got\n%s\nwant\n%s", golden, got, want)
		}
	}
}

// ownRole: a project without composers gets the Role that controller-tools generates from its markers.
func ownRole(t *testing.T, ctx *genall.GenerationContext, files *token.FileSet) {
	t.Helper()
	if err := (derive.Generator{Project: "plain", Files: files}).Generate(ctx); err != nil {
		t.Fatal(err)
	}
	got := ctx.OutputRule.(kept)["role.yaml"].String()
	ctx.OutputRule = kept{}
	if err := (rbac.Generator{RoleName: "plain"}).Generate(ctx); err != nil {
		t.Fatal(err)
	}
	if want := ctx.OutputRule.(kept)["role.yaml"].String(); got != want || want == "" {
		t.Errorf("plain: got\n%s\nwant\n%s", got, want)
	}
}
