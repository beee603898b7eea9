package scaffold

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// APIServer is a kind that the operator is to serve by itself, as no definition can: its objects are
// worked out, or kept elsewhere.
type APIServer struct {
	// Dir is the project's folder.
	Dir string
	// Group, Version and Kind name it. A group without a dot is completed by the project's domain.
	Group, Version, Kind string
	// Plural is by default that of English.
	Plural string
}

// serving is the package that serves kinds.
const serving = Framework + "/aggregated"

// aboutServer is what the templates of an API server know.
type aboutServer struct {
	about
	Alias string
}

// Plan works out what is created and changed for the kind.
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
	if err != nil {
		return nil, err
	}
	p.Next = []string{"go test ./...", "operon up", "operon kubectl get " + n.Plural}
	return p, p.generated(ctx, tell)
}

// served gathers what templates know, and refuses a version that has definitions: API servers pass a
// version on as a whole, or not at all.
func (a API) served(t *tree) (about, error) {
	n := about{API: a, Module: t.module, Operator: t.name, Var: lowerCamel(a.Kind), Letter: letterOf(a.Kind)}
	for _, kind := range t.kinds {
		if kind.Group == a.Group && kind.Version == a.Version {
			return n, fmt.Errorf("%s/%s has kind %s, which a definition serves (%s); one API server serves all of a version: choose another group or version", a.Group, a.Version, kind.Name, kind.Place())
		}
	}
	n.Folder, _ = t.folderFor(a.Group, a.Version)
	n.Package = path.Join(t.module, n.Folder)
	return n, t.declaresNone(".", n.Kind, n.Var+"Table", n.Var+"Resource", "Test"+n.Kind)
}

// serveAPI plans the line of main.go, and returns the name of the API package there.
func (p *Plan) serveAPI(t *tree, n about) (alias string, err error) {
	s := t.main
	call := s.call(s.importOf(Framework), "Main")
	if call == nil || len(call.Args) == 0 {
		return "", fmt.Errorf("%s does not call operon.Main with a list of parts, so that the API cannot be added to it; nothing was written: list them there as `operon init` does", s.name)
	}
	if s.importOf(serving) != "" {
		return "", fmt.Errorf("%s serves an API already; nothing was written: add a kind to its aggregated.Serve, beside the one that is there", s.name)
	}
	label, _, _ := strings.Cut(n.Group, ".")
	alias = s.addImport(n.Package, t.module, strings.NewReplacer("-", "", ".", "").Replace(label))
	with := s.addImport(serving, Framework, "served")
	s.addArguments(call, true, fmt.Sprintf("%s.Serve(%s.AddToScheme, %s.Kind(%s{}, %sResource))", with, alias, with, n.Kind, n.Var))
	content, err := s.done()
	if err != nil {
		return "", err
	}
	p.write(s.name, content)
	return alias, nil
}
