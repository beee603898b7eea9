package house

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQuestionsLeadToCode checks the answers of docs/architecture.md to where to look, and the files that the root package's
// comment names: each directory, file and function exists. An answer names a directory first, then files and functions in it.
func TestQuestionsLeadToCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| question | location |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	questions := 0
	for row := range strings.Lines(table) {
		questions++
		checkAnswer(t, row)
	}
	if questions < 10 {
		t.Errorf("docs/architecture.md answers only %d questions", questions)
	}
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range regexp.MustCompile(`internal/[a-z/]+\.go`).FindAllString(all[""].comment(), -1) {
		if !exists(file) {
			t.Errorf("the comment of the root package names %s, which does not exist", file)
		}
	}
}

// codeSpan is a text between backticks.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// checkAnswer checks a row of the table.
func checkAnswer(t *testing.T, row string) {
	t.Helper()
	dir, places := "", 0
	for _, span := range codeSpan.FindAllStringSubmatch(row, -1) {
		named := strings.TrimSuffix(span[1], "/")
		switch {
		case strings.HasPrefix(named, "operon "): // a command
		case strings.HasPrefix(named, "internal/"), strings.HasPrefix(named, "cluster/"), strings.HasPrefix(named, "olm/"):
			places++
			if dir = named; path.Ext(named) == ".go" {
				dir = path.Dir(named)
			}
			if !exists(named) {
				t.Errorf("%s does not exist, in: %s", named, row)
			}
		case named == "testdata", path.Ext(named) == ".go":
			if !exists(path.Join(dir, named)) {
				t.Errorf("%s has no %s, in: %s", dir, named, row)
			}
		case !declares(t, dir, named):
			t.Errorf("%s does not declare %s, in: %s", dir, named, row)
		}
	}
	if places == 0 {
		t.Errorf("no directory is named in: %s", row)
	}
}

func exists(file string) bool {
	_, err := os.Stat(filepath.Join(root, file))
	return err == nil
}

// declares reports whether a package declares a function or a method.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	if all[dir] == nil {
		return false
	}
	for _, file := range all[dir].files {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
