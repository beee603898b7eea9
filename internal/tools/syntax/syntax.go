// Package syntax has what the tools that read Go source share beyond go/ast.
package syntax

import "go/ast"

// Any reports whether a node of type N in the tree below root, root included, matches.
func Any[N ast.Node](root ast.Node, matches func(N) bool) bool {
	for node := range ast.Preorder(root) {
		if n, ok := node.(N); ok && matches(n) {
			return true
		}
	}
	return false
}
