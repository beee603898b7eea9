package scaffold

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// serve plans the new version's line in main.go, and makes all sources use the new hub.
func (p *Plan) serve(t *tree, n *versions) error {
	if err := p.servedInMain(t, n); err != nil || !n.Storage {
		return err
	}
	err := eachSource(t.dir, func(name string, _ []byte) error {
		file, err := slashed(t.dir, name)
		if err != nil || file == t.main.name || path.Dir(file) == n.folder {
			return err
		}
		return p.moved(t, n, file)
	})
	if err != nil {
		return err
	}
	sample := project.SampleFolder + "/" + strings.ToLower(n.Kind) + ".yaml"
	content, err := p.read(sample)
	if err != nil {
		return nil //nolint:nilerr // there need not be one
	}
	was := regexp.MustCompile(`(?m)^(apiVersion: ` + regexp.QuoteMeta(n.hub.Group+"/") + `)` + n.hub.Version + `(\r?)$`)
	p.write(sample, was.ReplaceAll(content, []byte("${1}"+n.Hub+"${2}")))
	return nil
}

// servedInMain adds the version's kinds to operon.Main, and the storage migration.
func (p *Plan) servedInMain(t *tree, n *versions) error {
	s := t.main
	framework := s.importOf(Framework)
	call := s.call(framework, "Main")
	if call == nil {
		return fmt.Errorf("%s does not call operon.Main with a list of options, so the version cannot be added to it; nothing was written: "+
			"list them there as `operon init` and `operon create api` do", s.name)
	}
	label, _, _ := strings.Cut(n.hub.Group, ".")
	importPath := t.module + "/" + n.folder
	if s.importOf(importPath) == "" || !mentions(call, s.importOf(importPath), "AddToScheme") {
		s.addArguments(call, true, framework+".API("+s.addImport(importPath, t.module, strings.ReplaceAll(label, "-", ""))+".AddToScheme)")
	}
	if n.Storage {
		for _, argument := range call.Args {
			if manage, ok := argument.(*ast.CallExpr); ok && isName(manage.Fun, framework, "Manage") && managed(manage) == n.Kind && !mentions(manage, framework, "MigrateStorage") {
				s.addArguments(manage, false, framework+".MigrateStorage()")
			}
		}
	}
	return p.rewrite(s)
}

// managed returns the type of the composer in a call of operon.Manage.
func managed(call *ast.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	if literal, ok := call.Args[0].(*ast.CompositeLit); ok {
		if name, ok := literal.Type.(*ast.Ident); ok {
			return name.Name
		}
	}
	return ""
}

// moved makes a source use the hub instead of the version that was the hub before. Other kinds of that version are not
// changed.
func (p *Plan) moved(t *tree, n *versions, file string) error {
	content, err := p.read(file)
	if err != nil || !bytes.Contains(content, []byte(n.SpokePackage)) {
		return err
	}
	if planned, ok := p.files[file]; ok && planned.fresh {
		return nil // it was written for both versions
	}
	s, err := parseSource(file, content)
	if err != nil {
		return project.NotCompiling(t.dir, err)
	}
	old := s.importOf(n.SpokePackage)
	if old == "" || ast.IsGenerated(s.tree) {
		return nil
	}
	moving, staying := s.usesOf(old, n.copied)
	if len(moving) == 0 {
		return nil
	}
	name := s.importHub(t, n, old, len(staying) == 0)
	for _, x := range moving {
		s.replace(x, name)
	}
	if n.converts(file) {
		s.renameInComments(n.Spoke, n.Hub)
	}
	return p.rewrite(s)
}

// usesOf finds where a source uses names of a package that move, and where it uses other names of it. The registration of all
// kinds of the package belongs to the other names: it moves only if no other name stays.
func (s *source) usesOf(of string, moves map[string]bool) (moving, staying []*ast.Ident) {
	var registering []*ast.Ident
	ast.Inspect(s.tree, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := selector.X.(*ast.Ident)
		switch name := selector.Sel.Name; {
		case !ok || x.Name != of:
		case name == "AddToScheme" || name == "GroupVersion":
			registering = append(registering, x)
		case moves[name]:
			moving = append(moving, x)
		default:
			staying = append(staying, x)
		}
		return true
	})
	if len(staying) > 0 || len(moving) == 0 {
		return moving, append(staying, registering...)
	}
	return append(moving, registering...), nil
}

// importHub imports the new hub, in place of the old one if that is no longer needed, and returns its name.
func (s *source) importHub(t *tree, n *versions, old string, instead bool) string {
	label, _, _ := strings.Cut(n.hub.Group, ".")
	at := slices.IndexFunc(s.tree.Imports, func(spec *ast.ImportSpec) bool { return importPath(spec) == n.SpokePackage })
	spec := s.tree.Imports[at]
	if known := s.importOf(n.HubPackage); known != "" && instead {
		s.removeImport(spec)
		return known
	}
	if !instead {
		return s.addImport(n.HubPackage, t.module, strings.ReplaceAll(label, "-", ""))
	}
	line, name := strconv.Quote(n.HubPackage), path.Base(n.HubPackage)
	if old != path.Base(n.SpokePackage) {
		name = old // an author's own
	} else if s.taken(name) {
		name = strings.ReplaceAll(label, "-", "") + name
	}
	if name != path.Base(n.HubPackage) {
		line = name + " " + line
	}
	s.replace(spec, line)
	return name
}

// converts reports whether a file is about the conversion of another version.
func (n *versions) converts(file string) bool {
	lower := strings.ToLower(n.Kind)
	return slices.ContainsFunc(n.others, func(other project.Kind) bool {
		return file == other.Folder+"/"+lower+"_conversion.go" || file == lower+"_"+other.Version+"_test.go"
	})
}

// renameInComments replaces the name of a version in comments.
func (s *source) renameInComments(from, to string) {
	old := regexp.MustCompile(`\b` + from + `\b`)
	for _, group := range s.tree.Comments {
		for _, comment := range group.List {
			if text := old.ReplaceAllString(comment.Text, to); text != comment.Text {
				s.replace(comment, text)
			}
		}
	}
}
