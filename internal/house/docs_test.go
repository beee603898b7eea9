package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// minComment is the minimum length of a package comment, in bytes.
const minComment = 120

func TestPackagesAreDocumented(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		if len(p.comment()) < minComment {
			t.Errorf("package %q has no comment of substance: say what it is for and how it works", p.dir)
		}
		for _, file := range p.files {
			checkContracts(t, file)
		}
	}
}

// groups are the directories that contain the packages of one part of the product.
var groups = []string{"internal/core", "internal/olm", "internal/runtime", "internal/tools", "internal/prove", "internal/ship", "internal/testing", "cluster/internal"}

// TestGroupsAreDocumented checks that each group of packages documents its purpose and what it may import.
func TestGroupsAreDocumented(t *testing.T) {
	t.Parallel()
	for _, dir := range groups {
		content, err := os.ReadFile(filepath.Join(root, dir, "doc.go"))
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if !strings.Contains(string(content), "import") {
			t.Errorf("%s/doc.go does not say what its packages may import", dir)
		}
	}
}

// understood are methods whose contract is defined by a well-known interface.
var understood = map[string]bool{"Error": true, "Unwrap": true, "String": true}

// checkContracts checks that each exported name has a comment.
func checkContracts(t *testing.T, file *ast.File) {
	t.Helper()
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && !understood[d.Name.Name] && (d.Recv == nil || isExported(d.Recv.List[0].Type)) {
				t.Errorf("%s: %s is exported and has no comment", place(d.Pos()), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name, documented := exportedBy(spec); name != "" && !documented && d.Doc == nil {
					t.Errorf("%s: %s is exported and has no comment", place(spec.Pos()), name)
				}
			}
		}
	}
}

// TestCommentsHaveSubstance checks that the comment of a name that authors use contains more than the name.
func TestCommentsHaveSubstance(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range sources(t) {
		if !public(p) {
			continue
		}
		for _, file := range p.files {
			for _, declaration := range file.Decls {
				f, ok := declaration.(*ast.FuncDecl)
				if ok && f.Name.IsExported() && f.Doc != nil && (f.Recv == nil || isExported(f.Recv.List[0].Type)) {
					checked++
					if words := len(strings.Fields(f.Doc.Text())); words < 6 {
						t.Errorf("%s: the comment of %s has %d words: say what it does that its name does not", place(f.Pos()), f.Name.Name, words)
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Fatalf("only %d comments were checked", checked)
	}
}

// isExported reports whether the type of a receiver is exported.
func isExported(receiver ast.Expr) bool { return ast.IsExported(receiverName(receiver)) }

// receiverName returns the name of a receiver's type, without pointer and type parameters.
func receiverName(receiver ast.Expr) string {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return receiverName(r.X)
	case *ast.IndexExpr:
		return receiverName(r.X)
	case *ast.IndexListExpr:
		return receiverName(r.X)
	case *ast.Ident:
		return r.Name
	}
	return ""
}

// exportedBy returns the exported name that a specification declares, and whether it has a comment.
func exportedBy(spec ast.Spec) (name string, documented bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return s.Name.Name, s.Doc != nil
		}
	case *ast.ValueSpec:
		if s.Names[0].IsExported() {
			return s.Names[0].Name, s.Doc != nil || s.Comment != nil
		}
	}
	return "", false
}
