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
)

// What is for macOS compiles there, and for Windows what an operator imports: nobody here would notice otherwise. A
// compiler would take minutes for all that they import; what it would refuse is found without making code.
func TestOtherPlatforms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		system, module string
		packages       []string
	}{
		"tools on macOS":         {"darwin", "../..", []string{"./..."}},
		"the cluster on macOS":   {"darwin", "../../cluster", []string{"./..."}},
		"an operator on Windows": {"windows", "../..", []string{".", "./operontest"}},
	} {
		t.Run(name, func(t *testing.T) { // one at a time, as each takes a lot of memory
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

// platformPackage is what go list tells of a package for a platform.
type platformPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Error           *struct{ Err string }
}

// listed are packages with all that they import, which stands before them.
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

// compiled are packages whose types are known, by their path.
type compiled map[string]*types.Package

// add finds out a package's types, and what is wrong with them. It does not look into functions of packages that are only imported.
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
	c[p.ImportPath], _ = config.Check(p.ImportPath, fset, files, nil) // its error is the first of those
	return errors.Join(errs...)
}

// importFunc is a types.Importer.
type importFunc func(path string) (*types.Package, error)

// Import implements types.Importer.
func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }
