package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"path"
	"path/filepath"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Webhook adds methods that API servers call before they store an object of a kind.
type Webhook struct {
	// Dir is the project's directory.
	Dir string
	// Group, Version and Kind name one of the project's kinds. Group and Version may be empty if Kind is unambiguous.
	Group, Version, Kind string
	// Default sets fields, Validate rejects objects, and ValidateDeletion prevents deletions. If none is set, Default and
	// Validate are added.
	Default, Validate, ValidateDeletion bool
}

// aboutWebhook is the data for the templates of a webhook.
type aboutWebhook struct {
	Webhook
	Operator, Package, Alias, Plural, Letter string
}

// Plan plans the files to create for the methods.
func (w Webhook) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	t, err := readTree(w.Dir)
	if err != nil {
		return nil, err
	}
	if !w.Default && !w.Validate && !w.ValidateDeletion {
		w.Default, w.Validate = true, true
	}
	kind, err := t.find(w.Group, w.Version, w.Kind)
	if err != nil {
		return nil, err
	}
	if err := w.free(t, kind); err != nil {
		return nil, err
	}
	names := aboutWebhook{Webhook: w, Operator: t.name, Package: t.module + "/" + kind.Folder, Alias: kind.Version, Plural: kind.Plural, Letter: letterOf(kind.Name)}
	p := newPlan(t.dir)
	lower := strings.ToLower(kind.Name)
	if err := errors.Join(p.fill(lower+"_webhook.go", "webhook.go", names), p.fill(lower+"_webhook_test.go", "webhook_test.go", names), p.check()); err != nil {
		return nil, err
	}
	p.Next = []string{"go test ./...", "operon up    # serves them on this machine"}
	return p, p.generated(ctx, tell)
}

// free returns an error unless the composer of the kind exists and has none of the methods yet.
func (w Webhook) free(t *tree, kind project.Kind) error {
	methods, err := t.methods(kind.Name)
	if err != nil {
		return err
	}
	if methods["Compose"] == "" {
		return fmt.Errorf("the project directory has no composer %s to add these methods to: scaffold one with `operon create controller --kind %s`", kind.Name, kind.Name)
	}
	for name, wanted := range map[string]bool{"Default": w.Default, "Validate": w.Validate, "ValidateDeletion": w.ValidateDeletion} {
		if wanted && methods[name] != "" {
			return fmt.Errorf("%s already has the method %s (%s): edit it there", kind.Name, name, methods[name])
		}
	}
	return t.declaresNone(".", "Test"+kind.Name+"Default", "Test"+kind.Name+"Validate", "Test"+kind.Name+"ValidateDeletion")
}

// letterOf returns the name of a variable for objects of a kind. The name t is reserved for tests.
func letterOf(kind string) string {
	if letter := strings.ToLower(kind[:1]); letter != "t" {
		return letter
	}
	return "o"
}

// find finds a kind of the project: in the given version, or the only one.
func (t *tree) find(group, version, kind string) (project.Kind, error) {
	if err := CheckKind(kind); err != nil {
		return project.Kind{}, err
	}
	group = t.complete(group)
	var found []project.Kind
	var have []string
	for _, k := range t.kinds {
		have = append(have, fmt.Sprintf("%s of %s/%s", k.Name, k.Group, k.Version))
		if k.Name == kind && (group == "" || group == k.Group) && (version == "" || version == k.Version) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return project.Kind{}, fmt.Errorf("the project has several kinds %s: select one with --group and --version: %s", kind, strings.Join(have, ", "))
	case len(have) == 0:
		return project.Kind{}, fmt.Errorf("the project has no kind %s, and no other kind: scaffold one with `operon create api`", kind)
	}
	return project.Kind{}, fmt.Errorf("the project has no kind %s; it has %s", strings.TrimSpace(kind+" "+version), strings.Join(have, ", "))
}

// methods returns the methods of a type in the project's main package, and their files.
func (t *tree) methods(of string) (map[string]string, error) {
	found := map[string]string{}
	return found, t.eachMain(func(s *source) {
		for _, declaration := range s.tree.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv == nil {
				continue
			}
			receiver := function.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if name, ok := receiver.(*ast.Ident); ok && name.Name == of {
				found[function.Name.Name] = s.name
			}
		}
	})
}

// eachMain visits the sources of the project's main package, including tests.
func (t *tree) eachMain(visit func(*source)) error {
	return eachSource(t.dir, func(name string, content []byte) error {
		if filepath.Dir(name) != t.dir {
			return nil
		}
		s, err := parseSource(path.Base(filepath.ToSlash(name)), content)
		if err != nil {
			return project.NotCompiling(t.dir, err)
		}
		visit(s)
		return nil
	})
}
