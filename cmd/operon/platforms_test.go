package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// All packages compile for macOS, and the packages that an operator imports compile for Windows: otherwise this would not be
// noticed. A compiler would take minutes for all dependencies. Therefore the test only checks types and generates no code.
func TestOtherPlatforms(t *testing.T) {
	testaid.Slow(t, "it checks the types of some five thousand packages; `make dist` compiles the programs for macOS")
	t.Parallel()
	for name, c := range map[string]struct {
		system, module string
		packages       []string
	}{
		"tools on macOS":         {"darwin", "../..", []string{"./..."}},
		"the cluster on macOS":   {"darwin", "../../cluster", []string{"./..."}},
		"an operator on Windows": {"windows", "../..", []string{".", "./operontest"}},
	} {
		t.Run(name, func(t *testing.T) { // not parallel, because each needs a lot of memory
			found, fset := compiled{"unsafe": types.Unsafe}, token.NewFileSet()
			for _, p := range listed(t, c.system, c.module, c.packages) {
				if p.Error != nil {
					t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
				}
				if err := found.add(fset, p); err != nil {
					t.Error(err)
				}
			}
			if len(found) < 500 {
				t.Errorf("only %d packages were looked at", len(found))
			}
		})
	}
}

// platformPackage is the output of go list for a package and a platform.
type platformPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Error           *struct{ Err string }
}

// listed returns packages and all their dependencies, dependencies first.
func listed(t *testing.T, system, module string, packages []string) []*platformPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Error"}, packages...)...)
	list.Dir, list.Env = module, append(os.Environ(), "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Start(); err != nil {
		t.Fatal(err)
	}
	var all []*platformPackage
	decoder := json.NewDecoder(out)
	for err == nil {
		p := &platformPackage{}
		if err = decoder.Decode(p); err == nil {
			all = append(all, p)
		}
	}
	if err := errors.Join(list.Wait(), unless(err, io.EOF)); err != nil {
		t.Fatal(err)
	}
	return all
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// compiled contains packages with known types, by path.
type compiled map[string]*types.Package

// add checks the types of a package and returns its errors. It skips the bodies of functions in dependencies.
func (c compiled) add(fset *token.FileSet, p *platformPackage) error {
	if c[p.ImportPath] != nil {
		return nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var errs []error
	config := types.Config{
		Importer: importFunc(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if found := c[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("there is no package %s", path)
		}),
		IgnoreFuncBodies: p.DepOnly,
		Error:            func(err error) { errs = append(errs, err) },
	}
	c[p.ImportPath], _ = config.Check(p.ImportPath, fset, files, nil) // its error is the first of errs
	return errors.Join(errs...)
}

// importFunc is a types.Importer.
type importFunc func(path string) (*types.Package, error)

// Import implements types.Importer.
func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }
