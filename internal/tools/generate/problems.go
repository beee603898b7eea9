package generate

import (
	"errors"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// told returns each error in the packages once: the errors of the compiler, or, if there are none, the errors of the
// generators. It returns nil if there are no errors.
func told(dir string, shared *genall.GenerationContext, generators []error) error {
	roots, registry := shared.Roots, shared.Collector.Registry
	if compiler := problemsIn(dir, roots, registry, saysCompiler); compiler != nil {
		return compiler
	}
	return errors.Join(errors.Join(generators...), problemsIn(dir, roots, registry, saysGenerator))
}

// saysCompiler reports whether the go command or the compiler would report the error, too.
func saysCompiler(pkg *packages.Package, problem packages.Error) bool {
	switch problem.Kind {
	case packages.ListError, packages.ParseError:
		return true
	case packages.TypeError:
		return !partial(pkg, problem)
	}
	return false
}

func saysGenerator(_ *packages.Package, problem packages.Error) bool {
	return problem.Kind == packages.UnknownError
}

var (
	undefined = regexp.MustCompile(`^undefined: (\w+)(\.\w+)?$`)
	unchecked = []string{"DeepCopy", "could not import", "import loop", "invalid type", "invalid package name"}
)

// partial reports whether a type error is not a real one: it comes from packages that no generator requested, or from the
// generated methods, which are left out while they are generated.
func partial(pkg *packages.Package, problem packages.Error) bool {
	for _, text := range unchecked {
		if strings.Contains(problem.Msg, text) {
			return true
		}
	}
	found := undefined.FindStringSubmatch(problem.Msg)
	if found == nil {
		return false
	}
	for _, imported := range pkg.Imports {
		complete := imported.Types != nil && imported.Types.Complete() && len(imported.Syntax) > 0
		if imported.Name == found[1] && (!complete || found[2] == "") {
			return true
		}
	}
	// A package may be imported with another name. It is then unknown here.
	return found[2] != "" && !slices.ContainsFunc(slices.Collect(maps.Values(pkg.Imports)), func(imported *packages.Package) bool { return imported.Name == found[1] })
}

// problemsIn returns the errors that loading and generating added to the packages. Type errors are reported only for the
// project's own packages.
func problemsIn(dir string, roots []*loader.Package, registry *markers.Registry, wanted func(*packages.Package, packages.Error) bool) error {
	raw := make([]*packages.Package, len(roots))
	own := map[*packages.Package]bool{}
	for i, root := range roots {
		raw[i] = root.Package
		own[root.Package] = true
	}
	var all []remark
	packages.Visit(raw, nil, func(found *packages.Package) {
		for _, problem := range found.Errors {
			foreign := problem.Kind == packages.TypeError && !own[found]
			if foreign || !wanted(found, problem) {
				continue
			}
			one := asRemark(dir, problem)
			if problem.Kind == packages.UnknownError {
				one.field = fieldAt(found, problem.Pos)
			}
			all = append(all, one)
		}
	})
	var problems []error
	for _, one := range explain(all, registry) {
		problems = append(problems, errors.New(one.String()))
	}
	return errors.Join(problems...)
}

// fieldAt returns the field of a type at a position, as TYPE.FIELD, or the type, or "" if there is neither.
func fieldAt(pkg *packages.Package, position string) string {
	for _, file := range pkg.Syntax {
		for _, declared := range file.Decls {
			block, ok := declared.(*ast.GenDecl)
			if !ok || block.Tok != token.TYPE {
				continue
			}
			for _, spec := range block.Specs {
				if found := fieldOf(pkg.Fset, spec.(*ast.TypeSpec), position); found != "" { //nolint:forcetypeassert // a declaration of types has no others
					return found
				}
			}
		}
	}
	return ""
}

func fieldOf(files *token.FileSet, spec *ast.TypeSpec, position string) (name string) {
	at := spec.Name.Name
	ast.Inspect(spec, func(node ast.Node) bool {
		if _, comment := node.(*ast.CommentGroup); comment || node == nil || name != "" {
			return false // markers have their own names
		}
		if field, ok := node.(*ast.Field); ok && len(field.Names) > 0 {
			at = spec.Name.Name + "." + field.Names[0].Name
		}
		if files.Position(node.Pos()).String() == position {
			name = at
		}
		return true
	})
	return name
}

// near returns a position relative to the current directory if the file is below it.
func near(dir, position string) string {
	file, rest, _ := strings.Cut(position, ":")
	if file == "" || file == "-" {
		return dir
	}
	if !filepath.IsAbs(file) {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return position
		}
		file = filepath.Join(dir, file)
	}
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(relative) {
			file = relative
		}
	}
	return file + ":" + rest
}
