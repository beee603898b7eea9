package generate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"

	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/operon-framework/operon/internal/tools/changes"
)

// run is a number of generators at work on the same packages.
type run struct {
	// dir is where paths, and files that generators read, are relative to; itself relative to the project.
	dir string
	// paths are patterns of packages, as controller-gen takes them.
	paths []string
	// tags are build tags to load with.
	tags string
	jobs []job
	// crosses: the paths reach into modules below, as controller-gen's do.
	crosses bool
}

// job is one generator, and where what it writes goes.
type job struct {
	// name is controller-gen's: object, crd, rbac, webhook.
	name      string
	generator genall.Generator
	// config is the directory for manifests, code the one for code, "" for that of the package.
	// Both are relative to the project.
	config, code string
	// into is where what it writes goes, nil for the result.
	into *changes.Set
	// version is that of controller-tools which manifests are to name, "" for the one that is built in.
	version string
	// patches: it changes a part of manifests that another client wrote, who is named there.
	patches bool
	// nowhere: what it writes is not wanted.
	nowhere bool
}

// placing is a generator that tells places in the code, what it cannot find out, and that the code may not
// compile.
type placing interface {
	With(files *token.FileSet, note func(string), doubt func()) genall.Generator
}

// work lets the generator work on what was loaded.
//
// A generator that panics, as controller-tools' do over types that they do not expect, is an error.
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
