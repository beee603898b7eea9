package operon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const modulePath = "github.com/operon-framework/operon"

// floors of the root module: a package imports only what stands on lower floors. Where
// several tools share a floor, after the point is their order.
var floors = map[string]float64{
	"outcome": 1.0, "shard/table": 1.0, "readiness": 1.0, "cause": 1.0, "plan": 1.1, "condition": 1.2, "contest": 1.2,
	"history": 2.0, "telemetry": 2.0, "scrape": 2.0, "wire": 2.0, "shard": 2.05, "overlay": 2.1, "apply": 2.1, "track": 2.2, "reconcile": 2.3, "webhook": 2.4,
	"journal": 1.0, "cron": 1.0, "api": 1.1, "bucket": 2.0, "durable": 2.0, "action": 2.4, "task": 3.2, // work in steps, and actions
	"release": 1.0, "migrate": 2.0, "crdsafe": 4.0, // versions
	"external": 1.0, "outside": 2.1,
	"": 3, "cel": 3.1, "aggregated": 3.1, "operontest": 3.2,
	"internal/box": 1.3, "internal/changes": 4.05, "aggregated/aggregatedtest": 4.15, "internal/handover": 4.1, "internal/scenario": 0.5, "local": 4.0, "project": 4.0, "local/localtest": 4.1, "up/tree": 4.2, "up/view": 4.3, "up": 4.4, "explain": 4.5, "deploy": 4.5,
	"generate/install": 4.15, "generate": 4.2, "scaffold": 4.3, "doctor": 4.3,
	"internal/flagerror": 0.5, "internal/ports": 0.4, "internal/testaid": 0.5, "internal/glob": 0.5, "generate/definitions": 4.1, // parts that others use
	"doctor/rule":  4.28,
	"prove/record": 4.0, "prove/workload": 4.05, "prove/fault": 4.1, "prove/proxy": 4.2, "prove/trace": 4.2, "prove/plan": 4.3,
	"prove/finding": 4.31, "prove/witness": 4.31, "prove/state": 4.32, "prove/rights": 4.32, "prove/oracle": 4.33, "prove/report": 4.34,
	"sbom": 4.0, "image": 4.1, "image/debian": 4.15, "build": 4.2,
	"prove/world": 4.6, "prove": 4.7,
	"cmd/operon": 5,
}

// parts are packages that belong to the one above them: they stand just below it.
func floorOf(t *testing.T, dir string) float64 {
	t.Helper()
	below := 0.0
	for part := dir; ; part = strings.TrimSuffix(filepath.Dir(part), ".") {
		if floor, ok := floors[part]; ok {
			return floor - below
		}
		if part == "" {
			t.Errorf("package %q stands on no floor: give it one in house_test.go", dir)
			return 0
		}
		below += 0.01
	}
}

// Limits on size, in lines. The best of the field stay far below.
const (
	maxFile     = 500
	maxFunction = 80
)

// minComment is what a package comment has to say at least, in bytes.
const minComment = 120

// source is a package of the root module: the files of one folder, tests left out.
type source struct {
	dir   string
	files []*ast.File
}

func TestHouse(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	for _, p := range sources(t, fset) {
		checkComment(t, p)
		for _, file := range p.files {
			checkImports(t, p.dir, file)
			checkSize(t, fset, file)
			checkContracts(t, fset, file)
		}
	}
}

func sources(t *testing.T, fset *token.FileSet) map[string]*source {
	t.Helper()
	found := map[string]*source{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && foreign(path) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.Dir(path), ".")
		if found[dir] == nil {
			found[dir] = &source{dir: dir}
		}
		found[dir].files = append(found[dir].files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// foreign folders hold other modules, or what is no source.
func foreign(path string) bool {
	name := filepath.Base(path)
	if name == "testdata" || strings.HasPrefix(name, ".") {
		return true
	}
	modules, err := filepath.Glob(filepath.Join(path, "go.mod"))
	return err == nil && len(modules) > 0 || path == "examples"
}

func checkComment(t *testing.T, p *source) {
	t.Helper()
	for _, file := range p.files {
		if file.Doc != nil && len(file.Doc.Text()) >= minComment {
			return
		}
	}
	t.Errorf("package %q has no comment of substance: say what it is for and how it goes about it", p.dir)
}

func checkImports(t *testing.T, dir string, file *ast.File) {
	t.Helper()
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		imported, own := strings.CutPrefix(path, modulePath)
		if !own {
			continue
		}
		imported = strings.TrimPrefix(imported, "/")
		if floorOf(t, imported) >= floorOf(t, dir) {
			t.Errorf("package %q imports %q, which does not stand below it", dir, imported)
		}
	}
}

func checkSize(t *testing.T, fset *token.FileSet, file *ast.File) {
	t.Helper()
	whole := fset.File(file.Pos())
	if whole.LineCount() > maxFile {
		t.Errorf("%s has %d lines, at most %d are allowed: it has more than one subject", whole.Name(), whole.LineCount(), maxFile)
	}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if lines := fset.Position(function.End()).Line - fset.Position(function.Pos()).Line; lines > maxFunction {
			t.Errorf("%s: function %s has %d lines, at most %d are allowed", fset.Position(function.Pos()), function.Name.Name, lines, maxFunction)
		}
	}
}

// understood are methods whose contract is that of an interface which everybody knows.
var understood = map[string]bool{"Error": true, "Unwrap": true, "String": true}

// checkContracts: what is exported says what it promises.
func checkContracts(t *testing.T, fset *token.FileSet, file *ast.File) {
	t.Helper()
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && !understood[d.Name.Name] && (d.Recv == nil || reachable(d.Recv.List[0].Type)) {
				t.Errorf("%s: %s is exported and has no comment", fset.Position(d.Pos()), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name, said := exportedBy(spec); name != "" && !said && d.Doc == nil {
					t.Errorf("%s: %s is exported and has no comment", fset.Position(spec.Pos()), name)
				}
			}
		}
	}
}

// reachable tells whether the type of a receiver is exported.
func reachable(receiver ast.Expr) bool {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return reachable(r.X)
	case *ast.IndexExpr:
		return reachable(r.X)
	case *ast.Ident:
		return r.IsExported()
	}
	return false
}

// exportedBy returns the exported name that a specification declares, and whether it is
// explained where it stands.
func exportedBy(spec ast.Spec) (name string, said bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return s.Name.Name, s.Doc != nil
		}
	case *ast.ValueSpec:
		if s.Names[0].IsExported() {
			return s.Names[0].Name, s.Doc != nil || s.Comment != nil
		}
	}
	return "", false
}

// heavy dependencies must not be reachable from what an operator imports.
var heavy = []string{
	"helm.sh/helm", "sigs.k8s.io/kustomize", "github.com/google/go-containerregistry", "sigs.k8s.io/controller-tools",
	"golang.org/x/tools", "k8s.io/code-generator", "k8s.io/gengo", "k8s.io/kubernetes", "github.com/containerd", "go.etcd.io/etcd", "github.com/spf13/cobra",
	"github.com/google/cel-go",
}

func TestOperatorsStayLight(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if len(packages) < 100 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, path := range packages {
		for _, prefix := range heavy {
			if path == prefix || strings.HasPrefix(path, prefix+"/") {
				t.Errorf("an operator gets %s, which is too heavy for it", path)
			}
		}
		for _, tool := range []string{"local", "project", "crdsafe", "generate", "scaffold", "doctor", "up", "deploy", "explain", "prove", "image", "build", "sbom", "cmd"} {
			if strings.HasPrefix(path, modulePath+"/"+tool) {
				t.Errorf("an operator gets the tool %s", path)
			}
		}
	}
}
