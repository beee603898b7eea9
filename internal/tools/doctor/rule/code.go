package rule

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Code is the Go code of a project without its tests, type-checked and indexed by which function mentions which.
type Code struct {
	Fset     *token.FileSet
	Packages []*packages.Package
	// Functions are all functions and methods with a body.
	Functions []*Function

	dir          string
	byObject     map[*types.Func]*Function
	fields       map[token.Pos]*Origin
	declarations map[token.Pos]*Origin
}

// Function is a function or method of the project.
type Function struct {
	Decl    *ast.FuncDecl
	Object  *types.Func
	Package *packages.Package
	// Mentions lists the project's functions that the body names, for example to call them.
	Mentions []*Function
}

// Info returns the type information of the expressions in the body.
func (f *Function) Info() *types.Info { return f.Package.TypesInfo }

// Load type-checks the packages of the module in dir that match patterns. If the code does not compile, it returns the
// compiler's errors.
func Load(ctx context.Context, dir string, patterns ...string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Fset: token.NewFileSet(),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedEmbedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if problems := problemsOf(loaded, dir); len(problems) > 0 {
		return nil, fmt.Errorf("the code does not compile:\n%w", errors.Join(problems...))
	}
	return loaded, nil
}

// problemsOf returns the errors in the code. Errors of the go command about packages are left out if the type checker reports
// errors.
func problemsOf(loaded []*packages.Package, dir string) []error {
	var listed, typed []error
	for _, p := range loaded {
		for _, problem := range p.Errors {
			said := errors.New(strings.TrimPrefix(problem.Error(), dir+string(filepath.Separator)))
			if problem.Kind == packages.ListError {
				listed = append(listed, said)
				continue
			}
			typed = append(typed, said)
		}
	}
	if len(typed) > 0 {
		return typed
	}
	return listed
}

// Index returns a Code of packages. Places are relative to dir.
func Index(dir string, loaded []*packages.Package) *Code {
	c := &Code{
		Packages: loaded, dir: dir, Fset: token.NewFileSet(),
		byObject: map[*types.Func]*Function{}, fields: map[token.Pos]*Origin{}, declarations: map[token.Pos]*Origin{},
	}
	if len(loaded) > 0 {
		c.Fset = loaded[0].Fset
	}
	for _, p := range loaded {
		for _, file := range p.Syntax {
			if !ast.IsGenerated(file) {
				c.add(p, file)
			}
		}
	}
	for _, f := range c.Functions {
		f.Mentions = c.mentions(f)
	}
	return c
}

func (c *Code) add(p *packages.Package, file *ast.File) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			object, ok := p.TypesInfo.Defs[d.Name].(*types.Func)
			if ok && d.Body != nil {
				f := &Function{Decl: d, Object: object, Package: p}
				c.Functions, c.byObject[object] = append(c.Functions, f), f
			}
		case *ast.GenDecl:
			c.addTypes(d)
		}
	}
}

func (c *Code) addTypes(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		declared, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		c.declarations[declared.Name.Pos()] = &Origin{Place: c.At(declared), Type: d}
		structure, ok := declared.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				c.fields[name.Pos()] = &Origin{Place: c.At(name), Field: field}
			}
		}
	}
}

func (c *Code) declaration(name *types.TypeName) *Origin { return copied(c.declarations[name.Pos()]) }
func (c *Code) field(field *types.Var) *Origin           { return copied(c.fields[field.Pos()]) }

func copied(o *Origin) *Origin {
	if o == nil {
		return nil
	}
	twin := *o
	return &twin
}

// At returns the place of a node.
func (c *Code) At(node ast.Node) Place { return c.AtPos(node.Pos()) }

// AtPos returns the place of a position.
func (c *Code) AtPos(at token.Pos) Place {
	position := c.Fset.Position(at)
	file, err := filepath.Rel(c.dir, position.Filename)
	if err != nil {
		file = position.Filename
	}
	return Place{File: filepath.ToSlash(file), Line: position.Line, Column: position.Column}
}

// mentions returns the functions of the project that a body names.
func (c *Code) mentions(f *Function) []*Function {
	var all []*Function
	ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
		name, ok := node.(*ast.Ident)
		if !ok {
			return true
		}
		object, ok := f.Info().Uses[name].(*types.Func)
		if !ok {
			return true
		}
		if found := c.byObject[object.Origin()]; found != nil && !slices.Contains(all, found) {
			all = append(all, found)
		}
		return true
	})
	return all
}

// Reach returns the given functions and all functions that they mention, directly or indirectly, in source order.
func (c *Code) Reach(from ...*Function) []*Function {
	seen := map[*Function]bool{}
	var follow func(*Function)
	follow = func(f *Function) {
		if seen[f] {
			return
		}
		seen[f] = true
		for _, next := range f.Mentions {
			follow(next)
		}
	}
	for _, f := range from {
		follow(f)
	}
	return c.functions(func(f *Function) bool { return seen[f] })
}

// functions returns the functions that match, in source order.
func (c *Code) functions(matches func(*Function) bool) []*Function {
	return slices.DeleteFunc(slices.Clone(c.Functions), func(f *Function) bool { return !matches(f) })
}

// Callers returns the functions in among that reach f, without f itself.
func (c *Code) Callers(f *Function, among []*Function) []*Function {
	return slices.DeleteFunc(slices.Clone(among), func(other *Function) bool { return other == f || !slices.Contains(c.Reach(other), f) })
}

// Called returns the function of the project that a call in f calls, or nil if it calls another function or a function value.
func (c *Code) Called(f *Function, call *ast.CallExpr) *Function {
	callee := Callee(f.Info(), call)
	if callee == nil {
		return nil
	}
	return c.byObject[callee.Origin()]
}
