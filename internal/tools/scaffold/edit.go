package scaffold

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is a Go file that is being edited: text is inserted at positions in the syntax tree, and all other text remains as
// it is written.
type source struct {
	name    string
	content []byte
	tree    *ast.File
	set     *token.FileSet
	edits   []edit
}

// edit replaces the bytes from begin to end.
type edit struct {
	begin, end int
	text       string
}

func parseSource(name string, content []byte) (*source, error) {
	s := &source{name: name, content: content, set: token.NewFileSet()}
	var err error
	s.tree, err = parser.ParseFile(s.set, name, content, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

func (s *source) offset(at token.Pos) int { return s.set.Position(at).Offset }

// insert inserts text at an offset. Several texts at the same offset stay in order.
func (s *source) insert(at int, text string) { s.edits = append(s.edits, edit{at, at, text}) }

// replace replaces a node by text.
func (s *source) replace(node ast.Node, text string) {
	s.edits = append(s.edits, edit{s.offset(node.Pos()), s.offset(node.End()), text})
}

// done returns the edited text, formatted.
func (s *source) done() ([]byte, error) {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return a.begin - b.begin })
	var all strings.Builder
	last := 0
	for _, e := range s.edits {
		all.Write(s.content[last:e.begin])
		all.WriteString(e.text)
		last = e.end
	}
	all.Write(s.content[last:])
	formatted, err := format.Source([]byte(all.String()))
	if err != nil {
		return nil, fmt.Errorf("%s: the added code does not fit: %w", s.name, err)
	}
	return formatted, nil
}

// importOf returns the name under which the file imports a package, or "" if it does not import it.
func (s *source) importOf(of string) string {
	for _, spec := range s.tree.Imports {
		if importPath(spec) == of {
			return importName(spec)
		}
	}
	return ""
}

// importName returns the name of an import in its file. importPath returns the imported path.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(importPath(spec))
}

func importPath(spec *ast.ImportSpec) string {
	written, _ := strconv.Unquote(spec.Path.Value)
	return written
}

// rewrite plans to write a source with its edits. A source that is to be created stays a new file.
func (p *Plan) rewrite(s *source) error {
	content, err := s.done()
	if err == nil {
		p.change(s.name, content)
	}
	return err
}

// removeImport removes an import.
func (s *source) removeImport(spec *ast.ImportSpec) {
	node := ast.Node(spec)
	for _, declaration := range s.tree.Decls {
		if imports, ok := declaration.(*ast.GenDecl); ok && len(imports.Specs) == 1 && imports.Specs[0] == ast.Spec(spec) {
			node = imports
		}
	}
	s.edits = append(s.edits, edit{s.offset(node.Pos()), min(s.lineEnd(s.offset(node.End()))+1, len(s.content)), ""})
}

// addImport imports a package under a name that no other import of the file has, and returns the name. Packages of one module
// are grouped together.
func (s *source) addImport(of, module, second string) string {
	if name := s.importOf(of); name != "" {
		return name
	}
	name, line := path.Base(of), strconv.Quote(of)
	if s.taken(name) {
		name = second + name
		line = name + " " + line
	}
	s.addImportLine(line, module)
	return name
}

// taken reports whether an import of the file has the name.
func (s *source) taken(name string) bool {
	return slices.ContainsFunc(s.tree.Imports, func(spec *ast.ImportSpec) bool { return importName(spec) == name })
}

func (s *source) addImportLine(line, module string) {
	var brackets, last *ast.GenDecl
	for _, declaration := range s.tree.Decls {
		imports, ok := declaration.(*ast.GenDecl)
		if !ok || imports.Tok != token.IMPORT {
			continue
		}
		last = imports
		if !imports.Rparen.IsValid() {
			continue
		}
		brackets = imports
		for _, spec := range slices.Backward(s.tree.Imports) {
			inside := spec.Pos() > imports.Lparen && spec.End() < imports.Rparen
			if written := importPath(spec); inside && (written == module || strings.HasPrefix(written, module+"/")) {
				s.insert(s.lineEnd(s.offset(spec.End())), "\n"+line)
				return
			}
		}
	}
	switch {
	case brackets != nil:
		s.insert(s.offset(brackets.Rparen), "\n"+line+"\n")
	case last != nil:
		s.insert(s.lineEnd(s.offset(last.End())), "\nimport "+line)
	default:
		s.insert(s.lineEnd(s.offset(s.tree.Name.End())), "\n\nimport "+line)
	}
}

// lineEnd returns the offset of the end of the line that contains the offset at.
func (s *source) lineEnd(at int) int {
	if end := strings.IndexByte(string(s.content[at:]), '\n'); end >= 0 {
		return at + end
	}
	return len(s.content)
}

// call finds the call of a package's function. It returns nil unless there is exactly one, and its arguments are listed one
// by one.
func (s *source) call(of, function string) *ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(s.tree, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && isName(call.Fun, of, function) {
			found = append(found, call)
		}
		return true
	})
	if len(found) != 1 || found[0].Ellipsis.IsValid() {
		return nil
	}
	return found[0]
}

// isName reports whether an expression is of.name.
func isName(expression ast.Expr, of, name string) bool {
	selector, ok := expression.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == of
}

// addArguments adds arguments to a call, each on its own line if the call has several lines or lines is set.
func (s *source) addArguments(call *ast.CallExpr, lines bool, arguments ...string) {
	last := s.offset(call.Args[len(call.Args)-1].End())
	end := s.offset(call.Rparen)
	between := string(s.content[last:end])
	if at := strings.LastIndexByte(between, '\n'); at >= 0 {
		s.insert(last+at, "\n"+strings.Join(arguments, ",\n")+",")
		return
	}
	if lines {
		s.insert(last, ",\n"+strings.Join(arguments, ",\n")+",\n")
		return
	}
	s.insert(last, ", "+strings.Join(arguments, ", "))
}
