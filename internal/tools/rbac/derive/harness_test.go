package derive_test

import (
	"bytes"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/operon-framework/operon/internal/tools/rbac/derive"
)

// kept is the output of a generator, by file. It is a genall.OutputRule.
type kept map[string]*bytes.Buffer

func (k kept) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	k[path] = &bytes.Buffer{}
	return writer{k[path]}, nil
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

// load loads the packages of a directory like `operon generate`.
func load(t *testing.T, dir string, generator genall.Generator, files *token.FileSet, patterns ...string) (*genall.GenerationContext, kept) {
	t.Helper()
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Context: t.Context(), Dir: dir, Fset: files}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	registry, out := &markers.Registry{}, kept{}
	if err := generator.RegisterMarkers(registry); err != nil {
		t.Fatal(err)
	}
	return &genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry}, Roots: roots, OutputRule: out, InputRule: genall.InputFromFileSystem,
		Checker: &loader.TypeChecker{},
	}, out
}

// generated returns the Role that is generated for the packages of a directory, and the notes, with places without
// directories.
func generated(t *testing.T, dir string, with derive.Generator, patterns ...string) (role string, notes []string) {
	t.Helper()
	with.Files = token.NewFileSet()
	with.Note = func(note string) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, strings.ReplaceAll(note, absolute+string(filepath.Separator), ""))
	}
	ctx, out := load(t, dir, with, with.Files, patterns...)
	if err := with.Generate(ctx); err != nil {
		t.Fatal(err)
	}
	if out["role.yaml"] == nil {
		return "", notes
	}
	return out["role.yaml"].String(), notes
}
