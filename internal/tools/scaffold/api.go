package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

// API describes a kind to create in a project.
type API struct {
	// Dir is the project's directory.
	Dir string
	// Group, Version and Kind identify it. A group without a dot is completed with the project's domain.
	Group, Version, Kind string
	// Plural and ShortName are additional names: by default the English plural, and no short name.
	Plural, ShortName string
	// Cluster reports that its objects are cluster-scoped.
	Cluster bool
	// NoController creates no composer for the kind.
	NoController bool
	// Playbook creates a playbook for the role, in a project of Ansible roles.
	Playbook bool
}

// about is the data for the templates of a kind.
type about struct {
	API
	Module, Operator string
	// Folder is the directory of the API package, and Package its import path.
	Folder, Package string
	// Var is the prefix of Go names, and Letter the name of a variable.
	Var, Letter string
	// Odd reports that the plural is not the default one.
	Odd bool
	// New reports that the API package does not exist yet.
	New bool
}

// Plan plans the files to create and change for the kind.
func (a API) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	if project.WithoutGo(a.Dir) {
		return a.planRole()
	}
	if a.Playbook {
		return nil, errors.New("--generate-playbook is for projects of Ansible roles, which have no go.mod")
	}
	t, err := readTree(a.Dir)
	if err != nil {
		return nil, err
	}
	if err := a.complete(t); err != nil {
		return nil, err
	}
	names, err := a.about(t)
	if err != nil {
		return nil, err
	}
	p := newPlan(t.dir)
	if err := errors.Join(p.sources(names), p.check()); err != nil {
		return nil, err
	}
	if err := p.register(t, names); err != nil {
		return nil, err
	}
	if !names.New {
		if err := p.addToScheme(t, names.Folder, names.Kind); err != nil {
			return nil, err
		}
	}
	p.Next = []string{"operon generate    # after each change of " + names.Folder, "operon up", "go test ./..."}
	return p, p.generated(ctx, tell)
}

// complete sets the defaults, and checks everything against the project.
func (a *API) complete(t *tree) error {
	a.Group = t.complete(a.Group)
	for _, err := range []error{CheckGroup(a.Group), CheckVersion(a.Version), CheckKind(a.Kind)} {
		if err != nil {
			return err
		}
	}
	if a.Plural == "" {
		a.Plural = project.Plural(a.Kind)
	}
	if err := checkPlural(a.Plural); err != nil {
		return err
	}
	if err := checkShortName(a.ShortName); err != nil {
		return err
	}
	for _, other := range t.kinds {
		if err := a.clash(other); err != nil {
			return err
		}
	}
	return nil
}

// clash returns an error if another kind of the project already has one of this kind's names.
func (a *API) clash(other project.Kind) error {
	if other.Group == a.Group && other.Name == a.Kind {
		if other.Version == a.Version {
			return fmt.Errorf("kind %s of %s/%s already exists (%s): choose another name", a.Kind, a.Group, a.Version, other.Place())
		}
		return fmt.Errorf("kind %s of %s already exists in version %s (%s): `operon create version --kind %s --version %s` adds a version to it",
			a.Kind, a.Group, other.Version, other.Place(), a.Kind, a.Version)
	}
	if other.Group != a.Group {
		return nil
	}
	for _, name := range append(slices.Clone(other.ShortNames), other.Plural, other.Singular) {
		for _, mine := range []struct{ flag, name string }{{"--plural", a.Plural}, {"--plural", strings.ToLower(a.Kind)}, {"--short-name", a.ShortName}} {
			if mine.name == name && name != "" {
				return fmt.Errorf("%s.%s is already a name of kind %s (%s): choose another one with %s", name, a.Group, other.Name, other.Place(), mine.flag)
			}
		}
	}
	return nil
}

// about collects the data for the templates, and checks that the Go names are available.
func (a API) about(t *tree) (about, error) {
	n := about{API: a, Module: t.module, Operator: t.name, Var: lowerCamel(a.Kind), Letter: letterOf(a.Kind), Odd: a.Plural != project.Plural(a.Kind)}
	folder, exists := t.folderFor(a.Group, a.Version)
	n.Folder, n.Package, n.New = folder, path.Join(t.module, folder), !exists
	if err := t.declaresNone(folder, a.Kind, a.Kind+"List", a.Kind+"Spec", a.Kind+"Status"); err != nil {
		return n, err
	}
	if a.NoController {
		return n, nil
	}
	return n, t.declaresNone(".", n.inMain()...)
}

// inMain returns the names that are added to the main package.
func (n about) inMain() []string {
	helper := n.Var + "Deployment"
	if n.Cluster {
		helper = n.Var + "Config"
	}
	return []string{n.Kind, n.Var + "Kit", helper, "sample" + n.Kind, "Test" + n.Kind, "Test" + n.Kind + "OnCluster"}
}

// declaresNone returns an error if a package already declares one of the names.
func (t *tree) declaresNone(folder string, names ...string) error {
	declared, err := t.declared(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if where, ok := declared[name]; ok {
			return fmt.Errorf("the name %s is taken in %s: rename the existing one, or choose another kind", name, where)
		}
	}
	return nil
}

// sources plans the files of the kind that users edit from now on.
func (p *Plan) sources(n about) error {
	lower := strings.ToLower(n.Kind)
	files := map[string]string{
		n.Folder + "/" + lower + "_types.go":         "types.go",
		project.SampleFolder + "/" + p.sampleName(n): "sample.yaml",
	}
	if !n.NoController {
		files[lower+".go"], files[lower+"_test.go"] = "composer.go", "composer_test.go"
	}
	for file, template := range files {
		if err := p.fill(file, template, n); err != nil {
			return err
		}
	}
	return nil
}

// sampleName returns KIND.yaml.
func (p *Plan) sampleName(n about) string {
	return strings.ToLower(n.Kind) + ".yaml"
}

// register plans the changes of main.go.
func (p *Plan) register(t *tree, n about) error {
	s := t.main
	framework := s.importOf(Framework)
	label, _, _ := strings.Cut(n.Group, ".")
	call := s.call(framework, "Main")
	if call == nil || len(call.Args) == 0 {
		return fmt.Errorf("%s does not call operon.Main with a list of options, so the kind cannot be added to it; nothing was written: add\n%s, and run this again with --controller=false",
			s.name, strings.Join(parts(framework, n.Version, n), "\n"))
	}
	known := s.importOf(n.Package)
	alias := s.addImport(n.Package, t.module, strings.NewReplacer("-", "", ".", "").Replace(label))
	lines := parts(framework, alias, n)
	if known != "" && mentions(call, known, "AddToScheme") {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return nil
	}
	s.addArguments(call, true, lines...)
	content, err := s.done()
	if err != nil {
		return err
	}
	p.write(s.name, content)
	return nil
}

// parts returns the arguments of operon.Main for a kind.
func parts(framework, api string, n about) []string {
	lines := []string{fmt.Sprintf("%s.API(%s.AddToScheme)", framework, api)}
	if !n.NoController {
		lines = append(lines, fmt.Sprintf("%s.Manage(%s{})", framework, n.Kind))
	}
	return lines
}

// mentions reports whether an expression contains of.name.
func mentions(node ast.Node, of, name string) bool {
	return syntax.Any(node, func(expression ast.Expr) bool { return isName(expression, of, name) })
}

// addToScheme plans to add a kind to the kinds that the package in a directory registers.
func (p *Plan) addToScheme(t *tree, folder, kind string) error {
	var found *source
	err := eachSource(t.place(folder), func(name string, content []byte) error {
		s, err := parseSource(folder+"/"+path.Base(name), content)
		if err != nil {
			return project.NotCompiling(t.dir, err)
		}
		if s.call("scheme", "AddKnownTypes") != nil {
			found = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found == nil {
		return noRegistration(folder)
	}
	found.addArguments(found.call("scheme", "AddKnownTypes"), false, "&"+kind+"{}", "&"+kind+"List{}")
	return p.rewrite(found)
}

func noRegistration(folder string) error {
	return fmt.Errorf("no source in %s calls scheme.AddKnownTypes, so that the kind cannot be added there; nothing was written: register the kinds by a function\n"+
		"func AddToScheme(scheme *runtime.Scheme) error {\n\tscheme.AddKnownTypes(GroupVersion, …)\n\tmetav1.AddToGroupVersion(scheme, GroupVersion)\n\treturn nil\n}", folder)
}
