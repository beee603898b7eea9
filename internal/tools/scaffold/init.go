package scaffold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"golang.org/x/mod/module"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Init describes a project to create.
type Init struct {
	// Dir is the directory of the project. It need not exist.
	Dir string
	// Domain completes the groups of its kinds. The default is example.com.
	Domain string
	// Module is the path of its Go module. The default is the domain and the directory's name.
	Module string
	// Operon defines where Operon's module comes from: the directory of a checkout, or a released version. The default is the
	// source from which this command was built.
	Operon string
	// CI adds workflows that test and release the project.
	CI bool
}

// workflows are the templates of the files that test and release a project.
var workflows = map[string]string{".github/workflows/test.yaml": "ci.yaml", ".github/workflows/release.yaml": "release.yaml"}

// DefaultDomain is the domain of projects that do not set one.
const DefaultDomain = "example.com"

// DefaultModule returns the default module path of a project in dir.
func DefaultModule(dir, domain string) string {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		absolute = dir
	}
	return domain + "/" + project.Label(filepath.Base(absolute))
}

// Plan plans the files of the new project. tell receives lines about the progress.
func (o Init) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if _, err := readTree(o.Dir); err == nil {
		return nil, fmt.Errorf("%s is already an Operon project: add to it with `operon create`, or name another directory", o.Dir)
	}
	from, err := findOrigin(o.Operon)
	if err != nil {
		return nil, err
	}
	p := newPlan(o.Dir)
	mod, sum, complete, err := goModFor(o.Module, from)
	if err != nil {
		return nil, err
	}
	p.create("go.mod", mod)
	p.create("go.sum", sum)
	name := nameOf(o.Module)
	about := map[string]string{"Name": name, "Domain": o.Domain, "Dir": filepath.Base(o.Dir)}
	files := map[string]string{"main.go": "main.go", "README.md": "project.md"}
	if o.CI {
		maps.Copy(files, workflows)
	}
	for path, template := range files {
		if err := p.fill(path, template, about); err != nil {
			return nil, err
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if !complete {
		err = p.inCopy(func(copied string) error { return p.tidy(ctx, copied, tell) })
	}
	p.Next = []string{"operon create api --group GROUP --version v1alpha1 --kind KIND"}
	return p, err
}

// complete sets the defaults, and checks everything.
func (o Init) complete() (Init, error) {
	if o.Domain == "" {
		o.Domain = DefaultDomain
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, err
	}
	if project.Label(filepath.Base(o.Dir)) == "" {
		return o, fmt.Errorf("the directory name %q has no letter or digit for a name of the operator: choose another name", filepath.Base(o.Dir))
	}
	if o.Module == "" {
		o.Module = DefaultModule(o.Dir, o.Domain)
	}
	if nameOf(o.Module) == "" {
		return o, errors.New("the module path has no last element to name the operator by: set another one with --module")
	}
	if err := CheckDomain(o.Domain); err != nil {
		return o, err
	}
	return o, CheckModule(o.Module)
}

// nameOf returns the name of the operator in a module: the last element of its path without a version.
func nameOf(path string) string {
	prefix, _, _ := module.SplitPathVersion(path)
	return project.Label(filepath.Base(prefix))
}
