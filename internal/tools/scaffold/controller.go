package scaffold

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// Controller adds a composer for an existing kind: a kind of the project, or a built-in kind, whose status belongs to other
// controllers.
type Controller struct {
	// Dir is the project's directory.
	Dir string
	// Group, Version and Kind identify it. Group is empty for the core group of Kubernetes: v1, Pod.
	Group, Version, Kind string
}

// aboutController is the data for the template of a built-in kind's composer.
type aboutController struct {
	Controller
	Package, Alias, Operator, Letter string
}

// Plan plans the files to create and change for the controller.
func (c Controller) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	t, err := readTree(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := CheckKind(c.Kind); err != nil {
		return nil, err
	}
	own, missing := t.find(c.Group, c.Version, c.Kind)
	if missing == nil {
		return t.composer(ctx, API{Dir: c.Dir, Group: own.Group, Version: own.Version, Kind: own.Name, Plural: own.Plural, Cluster: own.Cluster}, own.Folder, tell)
	}
	if c.Version == "" {
		return nil, fmt.Errorf("%w; for a built-in kind, set --version, and --group unless it is in the core group", missing)
	}
	kind := schema.GroupVersionKind{Group: c.Group, Version: c.Version, Kind: c.Kind}
	known, ok := clientscheme.Scheme.AllKnownTypes()[kind]
	if !ok {
		return nil, fmt.Errorf("%w, and %s is not a built-in kind: write a composer for kinds of other modules as docs/how-to/built-in-kinds.md shows", missing, kind)
	}
	return c.builtIn(ctx, t, known, tell)
}

// composer plans a composer for a kind whose types are in the project.
func (t *tree) composer(ctx context.Context, a API, folder string, tell func(string)) (*Plan, error) {
	n := about{API: a, Module: t.module, Operator: t.name, Folder: folder, Package: t.module + "/" + folder, Var: lowerCamel(a.Kind), Letter: letterOf(a.Kind)}
	if err := t.declaresNone(".", n.inMain()...); err != nil {
		return nil, err
	}
	p := newPlan(t.dir)
	lower := strings.ToLower(n.Kind)
	err := errors.Join(p.fill(lower+".go", "composer.go", n), p.fill(lower+"_test.go", "composer_test.go", n), p.check())
	if err == nil {
		err = p.register(t, n)
	}
	if err != nil {
		return nil, err
	}
	p.Next = []string{"go test ./...", "operon up"}
	return p, p.generated(ctx, tell)
}

// builtIn plans a composer for a built-in kind.
func (c Controller) builtIn(ctx context.Context, t *tree, known reflect.Type, tell func(string)) (*Plan, error) {
	lower := strings.ToLower(c.Kind)
	n := aboutController{Controller: c, Package: known.PkgPath(), Operator: t.name, Letter: letterOf(c.Kind)}
	n.Alias = path.Base(path.Dir(n.Package)) + path.Base(n.Package)
	if err := t.declaresNone(".", c.Kind, "Test"+c.Kind); err != nil {
		return nil, err
	}
	s := t.main
	framework := s.importOf(Framework)
	call := s.call(framework, "Main")
	if call == nil {
		return nil, fmt.Errorf("%s does not call operon.Main with a list of options, to which the controller could be added; nothing was written: call it as \"operon init\" does", s.name)
	}
	p := newPlan(t.dir)
	if err := errors.Join(p.fill(lower+".go", "decorator.go", n), p.fill(lower+"_test.go", "decorator_test.go", n), p.check()); err != nil {
		return nil, err
	}
	s.addArguments(call, true, fmt.Sprintf("%s.Manage(%s{}, %s.WithoutStatus())", framework, c.Kind, framework))
	content, err := s.done()
	if err != nil {
		return nil, err
	}
	p.write(s.name, content)
	p.Next = []string{"go test ./...", "operon up"}
	return p, p.generated(ctx, tell)
}
