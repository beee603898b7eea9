package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// APIServer describes a kind that the operator serves itself, for objects that a definition cannot provide, because they are
// computed or stored elsewhere.
type APIServer struct {
	// Dir is the project's directory.
	Dir string
	// Group, Version and Kind identify it. A group without a dot is completed with the project's domain.
	Group, Version, Kind string
	// Plural is by default the English plural.
	Plural string
}

// serving is the package that serves kinds.
const serving = Framework + "/aggregated"

// aboutServer is the data for the templates of an API server.
type aboutServer struct {
	about
	Alias string
}

// Plan plans the files to create and change for the kind.
func (s APIServer) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	t, err := readTree(s.Dir)
	if err != nil {
		return nil, err
	}
	api := API{Dir: s.Dir, Group: s.Group, Version: s.Version, Kind: s.Kind, Plural: s.Plural, Cluster: true}
	if err := api.complete(t); err != nil {
		return nil, err
	}
	names, err := api.served(t)
	if err != nil {
		return nil, err
	}
	p := newPlan(t.dir)
	n := aboutServer{about: names}
	if n.Alias, err = p.serveAPI(t, names); err != nil {
		return nil, err
	}
	lower := strings.ToLower(n.Kind)
	err = errors.Join(
		p.fill(n.Folder+"/"+lower+"_types.go", "apitypes.go", n),
		p.fill(lower+".go", "apireader.go", n),
		p.fill(lower+"_test.go", "apireader_test.go", n),
		p.check(),
	)
	if err == nil && !n.New {
		err = p.addToScheme(t, n.Folder, n.Kind)
	}
	if err != nil {
		return nil, err
	}
	p.Next = []string{"go test ./...", "operon up", "operon kubectl get " + n.Plural}
	return p, p.generated(ctx, tell)
}

// served collects the data for the templates. It rejects a version that has definitions, because API servers delegate either
// a whole version or nothing.
func (a API) served(t *tree) (about, error) {
	n := about{API: a, Module: t.module, Operator: t.name, Var: lowerCamel(a.Kind), Letter: letterOf(a.Kind)}
	for _, kind := range t.kinds {
		if kind.Group == a.Group && kind.Version == a.Version {
			return n, fmt.Errorf("%s/%s has kind %s, which a CRD serves (%s); one API server serves all kinds of a version: choose another group or version", a.Group, a.Version, kind.Name, kind.Place())
		}
	}
	folder, err := t.servedFolder(a.Group, a.Version)
	if err != nil {
		return n, err
	}
	if n.Folder, n.New = folder, folder == ""; n.New {
		n.Folder, _ = t.folderFor(a.Group, a.Version)
	}
	n.Package = path.Join(t.module, n.Folder)
	return n, errors.Join(t.declaresNone(n.Folder, n.Kind, n.Kind+"List"), t.declaresNone(".", n.Kind, n.Var+"Table", n.Var+"Resource", "Test"+n.Kind), t.pluralIsFree(n))
}

// servedFolder returns the directory of the package for a version that the operator serves itself, or "" if there is none.
func (t *tree) servedFolder(group, version string) (folder string, err error) {
	return folder, eachSource(t.dir, func(name string, content []byte) error {
		file, err := slashed(t.dir, name)
		if err != nil {
			return err
		}
		s, err := parseSource(file, content)
		if err != nil {
			return project.NotCompiling(t.dir, err)
		}
		if s.tree.Name.Name == version && marks(s, "+groupName="+group) && marks(s, "+kubebuilder:skip") {
			folder = path.Dir(file)
		}
		return nil
	})
}

// marks reports whether the comment of a package has a marker.
func marks(s *source, marker string) bool {
	return s.tree.Doc != nil && slices.ContainsFunc(s.tree.Doc.List, func(comment *ast.Comment) bool { return markerOf(comment) == marker })
}

// pluralIsFree returns an error if the operator serves another kind with the plural, in any version.
func (t *tree) pluralIsFree(n about) error {
	var taken error
	return errors.Join(t.eachMain(func(s *source) {
		ast.Inspect(s.tree, func(node ast.Node) bool {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, _ := pair.Key.(*ast.Ident)
			value, _ := pair.Value.(*ast.BasicLit)
			if key != nil && key.Name == "Plural" && value != nil && value.Value == strconv.Quote(n.Plural) {
				taken = fmt.Errorf("%s is already served (%s): choose another name with --plural", n.Plural, s.name)
			}
			return true
		})
	}), taken)
}

// serveAPI plans the changes of main.go, and returns the name under which it imports the API package.
func (p *Plan) serveAPI(t *tree, n about) (alias string, err error) {
	s := t.main
	call := s.call(s.importOf(Framework), "Main")
	if call == nil || len(call.Args) == 0 {
		return "", fmt.Errorf("%s does not call operon.Main with a list of options, so the API cannot be added to it; nothing was written: call it as `operon init` does", s.name)
	}
	label, _, _ := strings.Cut(n.Group, ".")
	with := s.importOf(serving)
	known := s.importOf(n.Package)
	alias = s.addImport(n.Package, t.module, strings.NewReplacer("-", "", ".", "").Replace(label))
	if with == "" {
		with = s.addImport(serving, Framework, "served")
		s.addArguments(call, true, fmt.Sprintf("%s.Serve(%s.AddToScheme, %s.Kind(%s{}, %sResource))", with, alias, with, n.Kind, n.Var))
		return alias, p.rewrite(s)
	}
	serve := s.call(with, "Serve")
	if serve == nil || len(serve.Args) == 0 {
		return "", fmt.Errorf("%s imports %s and does not call its Serve once with a list of kinds; nothing was written: list them there as `operon create apiserver` does", s.name, serving)
	}
	if known == "" || !mentions(serve.Args[0], known, "AddToScheme") {
		s.addScheme(serve.Args[0], alias)
	}
	s.addArguments(serve, true, fmt.Sprintf("%s.Kind(%s{}, %sResource)", with, n.Kind, n.Var))
	return alias, p.rewrite(s)
}

// addScheme adds the kinds of another package to the kinds that a function registers.
func (s *source) addScheme(register ast.Expr, alias string) {
	const machinery = "k8s.io/apimachinery/pkg/runtime"
	name := s.addImport(machinery, "k8s.io", "k8s")
	var all *ast.CompositeLit
	ast.Inspect(register, func(node ast.Node) bool {
		if literal, ok := node.(*ast.CompositeLit); ok && isName(literal.Type, name, "SchemeBuilder") {
			all = literal
		}
		return all == nil
	})
	if all != nil {
		s.insert(s.offset(all.Rbrace), ", "+alias+".AddToScheme")
		return
	}
	s.insert(s.offset(register.Pos()), "(&"+name+".SchemeBuilder{")
	s.insert(s.offset(register.End()), ", "+alias+".AddToScheme}).AddToScheme")
}
