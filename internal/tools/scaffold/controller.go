package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/tools/syntax"
)

// Controller is what is done about the objects of a kind that is there already: one of the project's, which
// gets a composer, or one of Kubernetes' own, which gets a plain reconciler, as its status is
// somebody else's.
type Controller struct {
	// Dir is the project's folder.
	Dir string
	// Group, Version and Kind name it. Group is empty for the core of Kubernetes: v1, Pod.
	Group, Version, Kind string
}

// aboutController is what the template of a reconciler knows.
type aboutController struct {
	Controller
	Package, Alias, Operator, Type, Plural string
}

// Plan works out what is created and changed for the controller.
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
		return nil, fmt.Errorf("%w; for a kind of Kubernetes' own, give --version, and --group unless it is of the core", missing)
	}
	kind := schema.GroupVersionKind{Group: c.Group, Version: c.Version, Kind: c.Kind}
	known, ok := clientscheme.Scheme.AllKnownTypes()[kind]
	if !ok {
		return nil, fmt.Errorf("%w; nor is %s one of Kubernetes' own kinds: write a reconciler of kinds of other modules as docs/runtime/hatches.md shows", missing, kind)
	}
	return c.reconciler(ctx, t, known, tell)
}

// composer plans a composer for a kind that the project has the types of.
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

// reconciler plans a plain reconciler of a kind of Kubernetes.
func (c Controller) reconciler(ctx context.Context, t *tree, known reflect.Type, tell func(string)) (*Plan, error) {
	lower := strings.ToLower(c.Kind)
	n := aboutController{Controller: c, Package: known.PkgPath(), Operator: t.name, Plural: pluralOf(c.Kind)}
	n.Alias = path.Base(path.Dir(n.Package)) + path.Base(n.Package)
	n.Type = c.Kind + "Reconciler"
	if err := t.declaresNone(".", n.Type, "setup"+c.Kind, "lookAfter"+c.Kind, "TestLookAfter"+c.Kind, "Test"+n.Type); err != nil {
		return nil, err
	}
	s := t.main
	framework := s.importOf(Framework)
	call := s.call(framework, "Main")
	if call == nil {
		return nil, fmt.Errorf("%s does not call operon.Main with a list of parts, so that the controller cannot be added to it; nothing was written: list them there as `operon init` does", s.name)
	}
	p := newPlan(t.dir)
	if err := errors.Join(p.fill(lower+".go", "reconciler.go", n), p.fill(lower+"_test.go", "reconciler_test.go", n), p.check()); err != nil {
		return nil, err
	}
	if !mentionsSetup(call, "setup"+c.Kind) {
		s.addArguments(call, true, framework+".Setup(setup"+c.Kind+")")
	}
	content, err := s.done()
	if err != nil {
		return nil, err
	}
	p.write(s.name, content)
	p.Next = []string{"go test ./...", "operon up"}
	return p, p.generated(ctx, tell)
}

func mentionsSetup(call *ast.CallExpr, name string) bool {
	return syntax.Any(call, func(ident *ast.Ident) bool { return ident.Name == name })
}
