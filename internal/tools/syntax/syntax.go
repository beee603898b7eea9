// Package syntax contains the code that the tools for Go sources share beyond package go/ast: a search of the syntax tree by
// the type of a node, and the names that a declaration introduces. It needs no types, so that it works on code that does not
// compile.
package syntax

import "go/ast"

// Any reports whether the tree with the given root, including the root, has a matching node of type N.
func Any[N ast.Node](root ast.Node, matches func(N) bool) bool {
	for node := range ast.Preorder(root) {
		if n, ok := node.(N); ok && matches(n) {
			return true
		}
	}
	return false
}

// Declared returns the names that a declaration adds to its package: none for an import or a method.
func Declared(declaration ast.Decl) []string {
	if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil {
		return []string{function.Name.Name}
	}
	general, ok := declaration.(*ast.GenDecl)
	if !ok {
		return nil
	}
	var names []string
	for _, spec := range general.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
