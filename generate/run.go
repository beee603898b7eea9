package generate

import (
	"cmp"
	"context"
	"errors"
	"go/token"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/operon-framework/operon/internal/changes"
)

// run is a number of generators at work on the same packages.
type run struct {
	// paths are patterns of packages, as controller-gen takes them.
	paths []string
	// tags are build tags to load with.
	tags string
	jobs []job
}

// job is one generator, and where what it writes goes.
type job struct {
	// name is controller-gen's: object, crd, rbac, webhook.
	name      string
	generator genall.Generator
	// config is the folder for manifests, code the one for code, "" for that of the package.
	// Both are relative to the project.
	config, code string
	// into is where what it writes goes, nil for the result.
	into *changes.Set
}

// placing is a generator that tells places in the code, and what it cannot find out.
type placing interface {
	With(files *token.FileSet, note func(string)) genall.Generator
}

// generate loads the packages and lets all generators work on them.
func (r run) generate(ctx context.Context, dir string, options Options, result *Result) error {
	files := token.NewFileSet()
	shared, err := r.load(ctx, dir, files)
	if err != nil {
		return err
	}
	var problems []error
	for _, job := range r.jobs {
		if of, ok := job.generator.(placing); ok {
			job.generator = of.With(files, func(note string) { result.Notes = append(result.Notes, note) })
		}
		problems = append(problems, job.work(ctx, *shared, dir, result))
	}
	return errors.Join(errors.Join(problems...), problemsIn(shared.Roots))
}

func (j job) work(ctx context.Context, own genall.GenerationContext, dir string, result *Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own.OutputRule = sink{job: j, dir: dir, set: cmp.Or(j.into, result.Changes)}
	if _, checks := j.generator.(genall.NeedsTypeChecking); !checks {
		own.Checker = nil
	}
	return j.generator.Generate(&own)
}

// load loads the packages, once, for all generators.
func (r run) load(ctx context.Context, dir string, files *token.FileSet) (*genall.GenerationContext, error) {
	config := &packages.Config{Context: ctx, Dir: dir, Fset: files, BuildFlags: []string{"-tags=" + r.tags}}
	roots, err := loader.LoadRootsWithConfig(config, r.paths...)
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
		Checker:   &loader.TypeChecker{NodeFilters: filters},
		InputRule: reader{dir},
	}, nil
}
