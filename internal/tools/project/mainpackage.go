package project

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/tools/glob"
)

// Main is the main package of an operator.
type Main struct {
	// Package is its directory in the form of the go command: ".", "./cmd", "./cmd/manager".
	Package string
	// Operator is the constant that its sources pass to operon.Main or operon.Run as the operator's name, or "" if they pass none.
	Operator string

	strings map[string]bool // all string literals in its sources, including import paths
}

// operon is the framework, and aggregated the package with which an operator serves its own API.
const (
	operon     = "github.com/operon-framework/operon"
	aggregated = operon + "/aggregated"
)

// ServesAPI reports whether the operator is also an API server, with package aggregated.
func (m Main) ServesAPI() bool { return m.Mentions(aggregated) }

// Mentions reports whether the package's sources contain text as a string literal, such as the name of a flag that they
// define.
func (m Main) Mentions(text string) bool { return m.strings[text] }

// findMain finds the main package: the wanted one, or the first in the usual places.
func findMain(dir, wanted string) (Main, error) {
	if wanted == "" && WithoutGo(dir) {
		return Main{Package: StockMain}, nil
	}
	if wanted != "" {
		found, err := readMain(dir, filepath.Clean(wanted))
		if err == nil && found == nil {
			err = fmt.Errorf("%s has no main package of Go", filepath.Join(dir, wanted))
		}
		if err != nil {
			return Main{}, err
		}
		return *found, nil
	}
	for _, place := range []string{".", "cmd"} {
		found, err := readMain(dir, place)
		if err != nil {
			return Main{}, err
		}
		if found != nil {
			return *found, nil
		}
	}
	return onlyMainBelow(dir, "cmd")
}

// onlyMainBelow returns the only main package in the direct subdirectories of parent.
func onlyMainBelow(dir, parent string) (Main, error) {
	var found []Main
	var names []string
	folders, err := glob.In(filepath.Join(dir, parent), "*")
	if err != nil {
		return Main{}, err
	}
	for _, folder := range folders {
		relative := filepath.Join(parent, filepath.Base(folder))
		one, err := readMain(dir, relative)
		if err != nil {
			return Main{}, err
		}
		if one != nil {
			found, names = append(found, *one), append(names, one.Package)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Main{}, fmt.Errorf("%s is not an operator project: it has no main package in ., ./cmd or a directory below ./cmd", dir)
	default:
		return Main{}, fmt.Errorf("%s has several main packages: %s; select one with --main", dir, strings.Join(names, ", "))
	}
}

// readMain reads the package in a directory. It returns nil unless it is a main package.
func readMain(dir, folder string) (*Main, error) {
	files, err := glob.In(filepath.Join(dir, folder), "*.go")
	if err != nil {
		return nil, err
	}
	found := &Main{Package: "./" + filepath.ToSlash(folder), strings: map[string]bool{}}
	if folder == "." {
		found.Package = "."
	}
	var trees []*ast.File
	for _, file := range files {
		tree, err := parse(file)
		if err != nil {
			return nil, err
		}
		if tree == nil || tree.Name.Name != "main" {
			continue
		}
		trees = append(trees, tree)
		found.addStrings(tree)
	}
	if len(trees) == 0 {
		return nil, nil
	}
	found.Operator = operatorIn(trees)
	return found, nil
}

// operatorIn returns the name in the first call of operon.Main or operon.Run that has a constant one.
func operatorIn(trees []*ast.File) string {
	constants := map[string]ast.Expr{}
	var passed []ast.Expr
	for _, tree := range trees {
		framework := importName(tree, operon)
		places := map[string]int{framework + ".Main": 0, framework + ".Run": 1}
		for node := range ast.Preorder(tree) {
			switch node := node.(type) {
			case *ast.ValueSpec:
				for i, value := range node.Values[:min(len(node.Values), len(node.Names))] {
					constants[node.Names[i].Name] = value
				}
			case *ast.CallExpr:
				if at, ok := places[types.ExprString(node.Fun)]; ok && at < len(node.Args) {
					passed = append(passed, node.Args[at])
				}
			}
		}
	}
	for _, name := range passed {
		if constant, ok := name.(*ast.Ident); ok {
			name = constants[constant.Name]
		}
		if literal, ok := name.(*ast.BasicLit); ok {
			text, _ := strconv.Unquote(literal.Value) // anything but a text does not compile
			return text
		}
	}
	return ""
}

// parse parses one source. It returns nil if it is a test or not for this platform. A source with an error is parsed as far
// as possible, because the compiler reports the error.
func parse(file string) (*ast.File, error) {
	if strings.HasSuffix(file, "_test.go") {
		return nil, nil
	}
	matches, err := build.Default.MatchFile(filepath.Dir(file), filepath.Base(file))
	if err != nil || !matches {
		return nil, nil //nolint:nilerr // a file without a readable header belongs to no package
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tree, _ := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
	if tree == nil || tree.Name == nil {
		return nil, nil
	}
	return tree, nil
}

func (m *Main) addStrings(tree *ast.File) {
	ast.Inspect(tree, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			m.strings[text] = true
		}
		return true
	})
}
