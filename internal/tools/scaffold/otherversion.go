package scaffold

import (
	"errors"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

const (
	storageMarker    = "+kubebuilder:storageversion"
	policyMarker     = "+operon:policy:"
	conversionMarker = `+kubebuilder:metadata:annotations="operon.dev/conversion=operator"`
)

// copyTypes plans the types of the new version: the types of the version to start from, with everything that they need from
// their package. It also marks the stored version.
func (p *Plan) copyTypes(t *tree, n *versions) error {
	d, err := p.declarationsIn(n.from.Folder, n.from.File)
	if err != nil {
		return err
	}
	n.types = d.types()
	file := n.folder + "/" + path.Base(n.from.File)
	if n.joins {
		file = n.folder + "/" + strings.ToLower(n.Kind) + "_types.go"
	}
	c := copying{versions: n, all: d, file: file}
	if err := c.choose(t); err != nil {
		return err
	}
	content, err := c.content()
	if err != nil {
		return err
	}
	p.create(file, content)
	if n.joins {
		err = p.addToScheme(t, n.folder, n.Kind)
	}
	spoke := file
	if n.Storage {
		spoke = n.hub.File
	}
	return errors.Join(err, p.mark(spoke, n.Kind, policyMarker, false), // those of the hub apply to all versions
		p.mark(file, n.Kind, storageMarker, n.Storage), p.mark(n.hub.File, n.Kind, storageMarker, !n.Storage),
		p.mark(file, n.Kind, conversionMarker, true), p.mark(n.hub.File, n.Kind, conversionMarker, true))
}

// copying builds one source from everything that a kind needs from a package.
type copying struct {
	*versions
	all    *declarations
	file   string
	chosen []*declaration
}

// choose finds the declarations to copy.
func (c *copying) choose(t *tree) error {
	there, err := t.declared(c.folder)
	if err != nil {
		return err
	}
	roots := []string{c.Kind, c.Kind + "List"}
	for _, name := range roots {
		if there[name] != "" {
			return fmt.Errorf("the name %s is taken in %s: rename the existing one, or choose another version", name, there[name])
		}
	}
	if !c.joins {
		roots = append(roots, "GroupVersion", "AddToScheme")
	}
	c.chosen = c.all.needed(there, roots...)
	registers := c.joins
	for _, one := range c.chosen {
		registers = registers || registersKinds(one.node)
		for _, name := range one.names {
			c.copied[name] = true
			if i := slices.IndexFunc(t.kinds, func(k project.Kind) bool { return k.Folder == c.from.Folder && k.Name == name && name != c.Kind }); i >= 0 {
				return fmt.Errorf("kind %s contains kind %s (%s), so they cannot have separate versions: use the spec of that kind instead", c.Kind, name, t.kinds[i].Place())
			}
		}
	}
	if !registers {
		return noRegistration(c.from.Folder)
	}
	return nil
}

func registersKinds(node ast.Node) bool {
	return syntax.Any(node, func(call *ast.CallExpr) bool { return isName(call.Fun, "scheme", "AddKnownTypes") })
}

// content returns the source: the kind's own file without declarations that are not needed, and needed declarations from
// other files.
func (c *copying) content() ([]byte, error) {
	s := c.all.sources[0]
	s.replace(s.tree.Name, c.Version.Version)
	c.packageComment(s)
	var behind strings.Builder
	for _, one := range c.all.all {
		kept := slices.Contains(c.chosen, one)
		if kept {
			c.adapt(one)
		}
		switch {
		case one.in == s && !kept:
			s.edits = append(s.edits, edit{one.begin, one.end, ""})
		case one.in != s && kept:
			behind.WriteString("\n\n" + one.alone())
		}
	}
	s.insert(len(s.content), behind.String())
	whole, err := s.done()
	if err != nil {
		return nil, err
	}
	return c.withImports(whole)
}

// policyLine matches a policy in a package comment, which applies to the kinds that it names.
var policyLine = regexp.MustCompile(`\n//[ \t]*` + regexp.QuoteMeta(policyMarker) + `.*`)

// packageComment keeps the package comment if the new package does not have one yet. The comment may be in another source.
func (c *copying) packageComment(s *source) {
	old := regexp.MustCompile(`\b` + c.from.Version + `\b`)
	adapted := func(text string) string {
		return old.ReplaceAllString(policyLine.ReplaceAllString(text, ""), c.Version.Version)
	}
	if own := s.tree.Doc; own != nil {
		text := ""
		if !c.joins {
			text = adapted(string(s.content[s.offset(own.Pos()):s.offset(own.End())]))
		}
		s.replace(own, text)
		if !c.joins && strings.Contains(text, "+groupName=") {
			return
		}
	}
	for _, other := range c.all.sources[1:] {
		if doc := other.tree.Doc; doc != nil && !c.joins && hasMarker(doc) {
			text := string(other.content[other.offset(doc.Pos()):other.offset(doc.End())])
			s.insert(s.offset(s.tree.Package), adapted(text)+"\n")
		}
	}
}

// adapt replaces the name of the old version by the new one, and makes the declaration register only this kind.
func (c *copying) adapt(one *declaration) {
	ast.Inspect(one.node, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.BasicLit:
			if n.Value == strconv.Quote(c.from.Version) {
				one.in.replace(n, strconv.Quote(c.Version.Version))
			}
		case *ast.CallExpr:
			if isName(n.Fun, "scheme", "AddKnownTypes") && len(n.Args) > 1 {
				one.in.edits = append(one.in.edits, edit{one.in.offset(n.Args[1].Pos()), one.in.offset(n.Rparen), "&" + c.Kind + "{}, &" + c.Kind + "List{}"})
				return false
			}
		}
		return true
	})
}

// alone returns the edited text of a declaration for use outside its group.
func (d *declaration) alone() string {
	text, last := "", d.begin
	for _, e := range d.in.edits {
		if e.begin >= d.begin && e.end <= d.end {
			text += string(d.in.content[last:e.begin]) + e.text
			last = e.end
		}
	}
	text += string(d.in.content[last:d.end])
	if d.group != nil {
		return "type (\n" + text + "\n)"
	}
	return text
}

// withImports returns the source of a copy with the imports that it needs from other sources, and without its own imports
// that it no longer uses.
func (c *copying) withImports(content []byte) ([]byte, error) {
	s, err := parseSource(c.file, content)
	if err != nil {
		return nil, err
	}
	before, now := c.all.sources[0].selected(), s.selected()
	for _, spec := range s.tree.Imports {
		// If the name was not used before either, the package has a name other than the last element of its path.
		if name := importName(spec); before[name] && !now[name] {
			s.removeImport(spec)
		}
	}
	for _, other := range c.all.sources[1:] {
		for _, spec := range other.tree.Imports {
			if err := s.use(spec, now); err != nil {
				return nil, err
			}
		}
	}
	return s.done()
}

// use adds an import of another source if it is used.
func (s *source) use(spec *ast.ImportSpec, used map[string]bool) error {
	name, written := importName(spec), importPath(spec)
	switch known := s.importOf(written); {
	case !used[name] || known == name:
		return nil
	case known != "" || s.taken(name):
		return fmt.Errorf("%s would import two packages as %s, of which %s is one: give them the same names in all sources of the package that it is copied from", s.name, name, written)
	}
	line := spec.Path.Value
	if spec.Name != nil {
		line = name + " " + line
	}
	first, _, _ := strings.Cut(written, "/")
	s.addImportLine(line, first)
	return nil
}

// selected returns the names before a dot: packages, among others.
func (s *source) selected() map[string]bool {
	found := map[string]bool{}
	ast.Inspect(s.tree, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok {
				found[x.Name] = true
			}
		}
		return true
	})
	return found
}

// mark adds a marker above a kind, or removes all that begin like it.
func (p *Plan) mark(file, kind, marker string, wanted bool) error {
	content, err := p.read(file)
	if err != nil {
		return err
	}
	d := &declarations{byName: map[string]*declaration{}}
	s, err := parseSource(file, content)
	if err != nil {
		return err
	}
	d.read(s)
	of := d.byName[kind]
	if of == nil {
		return fmt.Errorf("%s does not declare %s", file, kind)
	}
	there := false
	for _, group := range s.tree.Comments {
		for _, comment := range group.List {
			at := s.offset(comment.Pos())
			if !strings.HasPrefix(markerOf(comment), marker) || at < of.begin || at > s.offset(of.node.Pos()) {
				continue
			}
			there = true
			if !wanted {
				s.edits = append(s.edits, edit{at, s.lineEnd(at) + 1, ""})
			}
		}
	}
	if there == wanted {
		return nil
	}
	if wanted {
		s.insert(s.offset(of.node.Pos()), "// "+marker+"\n")
	}
	return p.rewrite(s)
}
