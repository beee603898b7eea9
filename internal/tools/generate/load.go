package generate

import (
	"context"
	"encoding/json"
	"errors"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// load loads the packages, once, for all generators, by the listing that is known or by a new one,
// which it returns: nil where x/tools alone could load them.
func (r run) load(ctx context.Context, dir string, files *token.FileSet, known *listing) (*genall.GenerationContext, *listing, error) {
	roots, known, err := r.roots(ctx, dir, files, known)
	if err != nil {
		return nil, nil, err
	}
	registry := &markers.Registry{}
	var filters []loader.NodeFilter
	for _, job := range r.jobs {
		if err := job.generator.RegisterMarkers(registry); err != nil {
			return nil, nil, err
		}
		if checks, ok := job.generator.(genall.NeedsTypeChecking); ok {
			filters = append(filters, checks.CheckFilter())
		}
	}
	if known != nil {
		filters = newFollower(files, known, filters).filters()
	}
	return &genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry},
		Roots:     roots,
		Checker:   &loader.TypeChecker{NodeFilters: filters},
		InputRule: reader{dir},
	}, known, nil
}

// roots loads the packages by a listing, which is made where none is known, or by x/tools alone
// where only that will do: it returns no listing then.
func (r run) roots(ctx context.Context, dir string, files *token.FileSet, known *listing) ([]*loader.Package, *listing, error) {
	if r.plainly(dir) {
		roots, err := r.rootsByTools(ctx, dir, files)
		return roots, nil, err
	}
	if known == nil {
		found, err := list(ctx, dir, r.tags, r.paths)
		if errors.Is(err, errNeedsCgo) {
			roots, err := r.rootsByTools(ctx, dir, files)
			return roots, nil, err
		}
		if err != nil {
			return nil, nil, err
		}
		known = found
	}
	roots, err := known.load(ctx, files)
	return roots, known, err
}

// plainly tells whether only x/tools knows what the patterns mean: there is a driver of another build
// system, or controller-gen's patterns reach into modules below.
func (r run) plainly(dir string) bool {
	if driver := os.Getenv("GOPACKAGESDRIVER"); driver != "" && driver != "off" {
		return true
	}
	return r.crosses && (len(r.paths) != 1 || hasModulesBelow(dir))
}

func (r run) rootsByTools(ctx context.Context, dir string, files *token.FileSet) ([]*loader.Package, error) {
	config := &packages.Config{Context: ctx, Dir: dir, Fset: files, BuildFlags: []string{"-tags=" + r.tags}}
	return loader.LoadRootsWithConfig(config, r.paths...)
}

// responseFile is the pattern, and the file, that stands for all packages of a listing.
const responseFile = "packages.json"

// load turns a listing into packages of controller-tools. Its loader takes them from a program
// only, so that one is given to it that prints them.
func (l *listing) load(ctx context.Context, files *token.FileSet) ([]*loader.Package, error) {
	encoded, err := json.Marshal(l.Response)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "operon-generate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, responseFile), encoded, 0o600); err != nil {
		return nil, err
	}
	config := &packages.Config{Context: ctx, Dir: folder, Fset: files, Env: append(os.Environ(), "GOPACKAGESDRIVER=cat")}
	return loader.LoadRootsWithConfig(config, responseFile)
}

// hasModulesBelow tells whether a folder below dir is a module of its own.
func hasModulesBelow(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || found {
			return filepath.SkipAll
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		found = entry.Name() == "go.mod" && filepath.Dir(path) != strings.TrimSuffix(dir, "/")
		return nil
	})
	return found
}
