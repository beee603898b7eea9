package generate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"

	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/operon-framework/operon/internal/tools/changes"
)

// run is a number of generators that process the same packages.
type run struct {
	// dir is the base of paths and of files that generators read. It is relative to the project.
	dir string
	// paths are package patterns in controller-gen's syntax.
	paths []string
	// tags are the build tags for loading packages.
	tags string
	jobs []job
	// crosses reports that the paths include nested modules, as in controller-gen.
	crosses bool
}

// job is one generator and its output.
type job struct {
	// name is the name in controller-gen: object, crd, rbac, webhook.
	name      string
	generator genall.Generator
	// config is the directory for manifests, and code the directory for code, "" for the directory of the package. Both are
	// relative to the project.
	config, code string
	// into receives the output; if it is nil, the result does.
	into *changes.Set
	// version is the version of controller-tools to name in manifests, "" for the one built in.
	version string
	// patches reports that it changes a part of manifests that another tool wrote, which stays named in them.
	patches bool
	// nowhere discards the output.
	nowhere bool
}

// placing is a generator that reports places in the code, notes about facts that it cannot determine, and doubts whether the code compiles.
type placing interface {
	With(files *token.FileSet, note func(string), doubt func()) genall.Generator
}

// work runs the generator on the loaded packages.
//
// If a generator panics, as those of controller-tools do for unexpected types, work returns an error.
func (j job) work(ctx context.Context, own genall.GenerationContext, dir string, result *Result) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the generator %s of controller-tools panicked over a type that it does not know: %v", j.name, cause)
		}
	}()
	own.Roots = concerning(j.name, own.Roots)
	own.OutputRule = sink{job: j, dir: dir, set: cmp.Or(j.into, result.Changes)}
	if _, checks := j.generator.(genall.NeedsTypeChecking); !checks {
		own.Checker = nil
	}
	return j.generator.Generate(&own)
}
