package generate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// markersIn returns the markers in the sources below a directory, each with its kind of place as a prefix: "field optional".
func markersIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil {
			collect(tree, used)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// collect reads markers of fields from their documentation. All other markers are at types and packages: no file of these
// sources has the same marker at both.
func collect(tree *ast.File, used map[string]bool) {
	ofFields := map[*ast.CommentGroup]bool{}
	ast.Inspect(tree, func(node ast.Node) bool {
		if field, ok := node.(*ast.Field); ok && field.Doc != nil {
			ofFields[field.Doc] = true
			add(used, field.Doc, "field")
		}
		return true
	})
	for _, group := range tree.Comments {
		if ofFields[group] {
			continue
		}
		if group == tree.Doc || !aboveType(tree, group) {
			add(used, group, "package")
			continue
		}
		add(used, group, "type")
	}
}

// aboveType reports whether a type follows the comment.
func aboveType(tree *ast.File, group *ast.CommentGroup) bool {
	for _, declaration := range tree.Decls {
		if declaration.End() < group.Pos() {
			continue
		}
		general, ok := declaration.(*ast.GenDecl)
		return ok && general.Tok == token.TYPE
	}
	return false
}

func add(used map[string]bool, group *ast.CommentGroup, target string) {
	for _, comment := range group.List {
		text, marks := strings.CutPrefix(strings.TrimPrefix(comment.Text, "// "), "+")
		if !marks {
			continue
		}
		// A marker's name ends where its arguments begin. Otherwise it ends with the line.
		name, _, _ := strings.Cut(text, "=")
		for name != "" {
			used[target+" "+name] = true
			last := strings.LastIndexByte(name, ':')
			name = name[:max(0, last)]
		}
	}
}
