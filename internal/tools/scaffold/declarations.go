package scaffold

import (
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

// declarations holds the declarations of a package of types in manually written sources.
type declarations struct {
	sources []*source
	all     []*declaration
	byName  map[string]*declaration
}

// declaration is a type, a function, or constants and variables that are declared together.
type declaration struct {
	in    *source
	node  ast.Node
	group *ast.GenDecl // set if the type is one of several in parentheses
	names []string
	of    string // the type of a method
	// begin and end are the offsets of the declaration, including the comments and markers above it.
	begin, end int
}

// declarationsIn reads the package in a directory, with the named file first.
func (p *Plan) declarationsIn(folder, first string) (*declarations, error) {
	files, err := glob.In(p.place(folder), "*.go")
	if err != nil {
		return nil, err
	}
	d := &declarations{byName: map[string]*declaration{}}
	for _, file := range files {
		name := path.Join(folder, filepath.Base(file))
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := p.read(name)
		if err != nil {
			return nil, err
		}
		s, err := parseSource(name, content)
		if err != nil {
			return nil, project.NotCompiling(p.dir, err)
		}
		if !ast.IsGenerated(s.tree) {
			d.sources = append(d.sources, s)
		}
	}
	slices.SortStableFunc(d.sources, func(a, b *source) int { return order(b.name == first) - order(a.name == first) })
	for _, s := range d.sources {
		d.read(s)
	}
	return d, nil
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

func (d *declarations) read(s *source) {
	last := s.offset(s.tree.Name.End())
	for _, one := range s.tree.Decls {
		begin := s.above(last, one)
		last = s.offset(one.End())
		switch n := one.(type) {
		case *ast.FuncDecl:
			d.add(&declaration{in: s, node: n, of: receiver(n), names: []string{n.Name.Name}, begin: begin, end: s.lineEnd(last)})
		case *ast.GenDecl:
			d.readGroup(s, n, begin)
		}
	}
}

func (d *declarations) readGroup(s *source, group *ast.GenDecl, begin int) {
	switch {
	case group.Tok == token.IMPORT:
	case group.Tok == token.TYPE && group.Lparen.IsValid():
		last := s.offset(group.Lparen) + 1
		for _, spec := range group.Specs {
			begin := s.above(last, spec)
			last = s.offset(spec.End())
			d.add(&declaration{in: s, node: spec, group: group, names: syntax.Declared(&ast.GenDecl{Specs: []ast.Spec{spec}}), begin: begin, end: s.lineEnd(last)})
		}
	default:
		d.add(&declaration{in: s, node: group, names: syntax.Declared(group), begin: begin, end: s.lineEnd(s.offset(group.End()))})
	}
}

func (d *declarations) add(one *declaration) {
	d.all = append(d.all, one)
	if one.of != "" {
		return
	}
	for _, name := range one.names {
		d.byName[name] = one
	}
}

// receiver returns the type of a method, or "" for a function.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	of := function.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// above returns the offset of the comments that belong to a declaration: its own, and groups of markers before them. Comments
// before the offset after are ignored.
func (s *source) above(after int, node ast.Node) int {
	begin := s.offset(node.Pos())
	for _, group := range slices.Backward(s.tree.Comments) {
		at, end := s.offset(group.Pos()), s.offset(group.End())
		if at < after || end > begin {
			continue
		}
		between := strings.Trim(string(s.content[end:begin]), " \t")
		if between != "\n" && !hasMarker(group) {
			break
		}
		begin = at
	}
	return begin
}

func hasMarker(group *ast.CommentGroup) bool {
	return slices.ContainsFunc(group.List, func(one *ast.Comment) bool { return strings.HasPrefix(markerOf(one), "+") })
}

// markerOf returns the text of a one-line comment.
func markerOf(comment *ast.Comment) string {
	return strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
}

// mentioned returns the names that a declaration may use from its package. The kinds that it registers are left out.
func mentioned(node ast.Node) []string {
	var all []string
	ast.Inspect(node, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			all = append(all, mentioned(n.X)...)
			return false
		case *ast.Field:
			all = append(all, mentioned(n.Type)...)
			return false
		case *ast.CallExpr:
			if isName(n.Fun, "scheme", "AddKnownTypes") && len(n.Args) > 0 {
				all = append(all, mentioned(n.Args[0])...)
				return false
			}
		case *ast.Ident:
			all = append(all, n.Name)
		}
		return true
	})
	return all
}

// conversionMethods lists the methods that are written again for each version.
var conversionMethods = []string{"Hub", "ConvertTo", "ConvertFrom"}

// needed returns the declarations of the names and everything that they need, in order, except names that already exist.
func (d *declarations) needed(there map[string]string, names ...string) []*declaration {
	keep := map[*declaration]bool{}
	var want func(name string)
	follow := func(one *declaration) {
		if keep[one] {
			return
		}
		keep[one] = true
		for _, name := range mentioned(one.node) {
			want(name)
		}
	}
	want = func(name string) {
		one := d.byName[name]
		if one == nil || there[name] != "" {
			return
		}
		follow(one)
		for _, method := range d.all {
			if method.of == name && !slices.Contains(conversionMethods, method.names[0]) {
				follow(method)
			}
		}
	}
	for _, name := range names {
		want(name)
	}
	return slices.DeleteFunc(slices.Clone(d.all), func(one *declaration) bool { return !keep[one] })
}

// types returns all types of the package, by name.
func (d *declarations) types() map[string]ast.Expr {
	found := map[string]ast.Expr{}
	for _, s := range d.sources {
		ast.Inspect(s.tree, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				found[spec.Name.Name] = spec.Type
			}
			_, inside := node.(*ast.FuncDecl)
			return !inside
		})
	}
	return found
}
