package generate

import (
	"bytes"
	"context"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// load loads the packages once for all generators.
func (r run) load(ctx context.Context, dir string, files *token.FileSet) (*genall.GenerationContext, error) {
	config := packages.Config{Context: ctx, Dir: dir, Fset: files, BuildFlags: []string{"-tags=" + r.tags}}
	quick := config
	quick.Env = append(os.Environ(), "CGO_ENABLED=0") // processing the standard library with cgo takes as long as everything else
	roots, err := loader.LoadRootsWithConfig(&quick, r.patterns()...)
	if err == nil && slices.ContainsFunc(roots, usesCgo) {
		roots, err = loader.LoadRootsWithConfig(&config, r.patterns()...)
	}
	if err != nil {
		return nil, err
	}
	registry := &markers.Registry{}
	var filters []loader.NodeFilter
	for _, job := range r.jobs {
		if err := job.generator.RegisterMarkers(registry); err != nil {
			return nil, err
		}
		if checks, ok := job.generator.(genall.NeedsTypeChecking); ok {
			filters = append(filters, checks.CheckFilter())
		}
	}
	return &genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry},
		Roots:     roots,
		Checker:   &loader.TypeChecker{NodeFilters: narrowed(files, roots, filters)},
	}, nil
}

// patterns returns the paths as patterns for the loader. The loader also accepts paths of directories in nested modules, as
// controller-gen does; the go command does not.
func (r run) patterns() []string {
	if r.crosses {
		return r.paths
	}
	patterns := make([]string, len(r.paths))
	for i, path := range r.paths {
		patterns[i] = "pattern=" + path
	}
	return patterns
}

// usesCgo reports whether a package that was loaded without cgo lacks sources that need cgo.
func usesCgo(root *loader.Package) bool {
	return slices.ContainsFunc(root.IgnoredFiles, func(file string) bool {
		content, err := os.ReadFile(file)
		return err == nil && (bytes.Contains(content, []byte(`import "C"`)) || bytes.Contains(content, []byte("//go:build cgo")))
	})
}

// inCache matches directories in the module cache, whose content never changes.
var inCache = regexp.MustCompile(`@v\d`)

// directoriesOf returns the directories of loaded packages whose sources may change: all except the standard library and the
// module cache.
func directoriesOf(roots []*loader.Package) []string {
	var all []string
	visit(roots, func(pkg *packages.Package) {
		if len(pkg.GoFiles) > 0 && !inCache.MatchString(pkg.GoFiles[0]) && !inStandardLibrary(pkg) {
			all = append(all, filepath.Dir(pkg.GoFiles[0]))
		}
	})
	return all
}

// inStandardLibrary reports whether a package is in GOROOT/src/PATH, like the standard library.
func inStandardLibrary(pkg *packages.Package) bool {
	root, is := strings.CutSuffix(filepath.ToSlash(filepath.Dir(pkg.GoFiles[0])), "/src/"+pkg.PkgPath)
	_, err := os.Stat(filepath.Join(root, "VERSION"))
	return is && err == nil
}

// visit calls do for the packages and everything that they import.
func visit(roots []*loader.Package, do func(*packages.Package)) {
	raw := make([]*packages.Package, len(roots))
	for i, root := range roots {
		raw[i] = root.Package
	}
	packages.Visit(raw, nil, do)
}
