package derive

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Packages that the analysis knows.
const (
	operonPath       = "github.com/operon-framework/operon"
	stepsPath        = operonPath + "/durable/steps"
	metaPath         = "k8s.io/apimachinery/pkg/apis/meta/v1"
	unstructuredPath = metaPath + "/unstructured"
	clientPath       = "sigs.k8s.io/controller-runtime/pkg/client"
	utilPath         = "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	machineryPath    = "k8s.io/apimachinery/"
)

// known lists packages that are checked although no package of the project may import them.
var known = map[string]bool{
	metaPath: true, unstructuredPath: true, clientPath: true, utilPath: true,
	"k8s.io/apimachinery/pkg/runtime": true, "k8s.io/apimachinery/pkg/runtime/schema": true, "k8s.io/apimachinery/pkg/types": true,
	"sigs.k8s.io/controller-runtime/pkg/cache/cacheapi": true, "sigs.k8s.io/controller-runtime": true, "sigs.k8s.io/controller-runtime/pkg/builder": true,
	"context": true, "errors": true, "fmt": true, "slices": true, "maps": true, "cmp": true, "iter": true, "strings": true,
}

// exposed lists Operon's packages whose types are visible to authors through its root package.
var exposed = map[string]bool{
	"": true, "/internal/runtime/webhook": true, "/internal/runtime/action": true, "/internal/core/plan": true,
	"/durable": true, "/durable/journal": true, "/durable/steps": true, "/external": true, "/aggregated": true, "/api/actions/v1alpha1": true,
}

// unit is a package of the project with full type information.
type unit struct {
	*loader.Package
	types *types.Package
	info  *types.Info
}

// program is the type-checked project. Its imports are checked only as far as necessary to distinguish kinds: only
// declarations, and only of a few packages. Other packages are empty, which causes type errors. Any other type error raises a
// doubt, and then the compiler decides whether the code compiles.
type program struct {
	genall.GenerationContext
	files *token.FileSet
	units []*unit

	own    map[string]*unit
	direct map[string]bool // directly imported by the project
	done   map[string]*types.Package
	byPath map[string]*loader.Package

	// doubted reports an error in the project's own code that no empty package explains.
	doubted bool
}

// usesOperon reports whether a package of the project imports Operon, without which it cannot manage a kind.
func usesOperon(roots []*loader.Package) bool {
	return slices.ContainsFunc(roots, func(root *loader.Package) bool { return root.Package.Imports[operonPath] != nil })
}

// check type-checks the project.
func check(ctx *genall.GenerationContext, files *token.FileSet) *program {
	p := &program{
		GenerationContext: *ctx, files: files,
		own: map[string]*unit{}, direct: map[string]bool{}, done: map[string]*types.Package{}, byPath: map[string]*loader.Package{},
	}
	for _, root := range ctx.Roots {
		p.own[root.PkgPath] = &unit{Package: root}
		for path := range root.Package.Imports {
			p.direct[path] = true
		}
	}
	for _, root := range ctx.Roots {
		p.typesOf(root)
		p.units = append(p.units, p.own[root.PkgPath])
	}
	return p
}

// worth reports whether an imported package is needed to distinguish kinds.
func (p *program) worth(of *loader.Package) bool {
	path := of.PkgPath
	if p.own[path] != nil || known[path] {
		return true
	}
	if inside, operons := strings.CutPrefix(path, operonPath); operons && exposed[inside] {
		return true
	}
	if !p.direct[path] {
		return false
	}
	for imported := range of.Package.Imports {
		if strings.HasPrefix(imported, machineryPath) || imported == operonPath {
			return true
		}
	}
	return false
}

// typesOf type-checks a package. It returns an empty package if the package is not needed.
func (p *program) typesOf(of *loader.Package) *types.Package {
	if made := p.done[of.PkgPath]; made != nil {
		return made
	}
	p.byPath[of.PkgPath] = of
	if !p.worth(of) {
		p.done[of.PkgPath] = hole(of.PkgPath, of.Name)
		return p.done[of.PkgPath]
	}
	of.NeedSyntax()
	own := p.own[of.PkgPath]
	config := &types.Config{
		Importer:                 importer(func(path string) *types.Package { return p.imported(of, path) }),
		IgnoreFuncBodies:         own == nil,
		DisableUnusedImportCheck: true,
		FakeImportC:              true,
		Sizes:                    of.TypesSizes,
		Error:                    func(err error) { p.doubted = p.doubted || own != nil && p.doubts(of, err) },
	}
	info := &types.Info{}
	if own != nil {
		info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		}
	}
	made, _ := config.Check(of.PkgPath, p.files, of.Syntax, info)
	if own != nil {
		own.types, own.info = made, info
	}
	p.done[of.PkgPath] = made
	return made
}

var qualified = regexp.MustCompile(`^undefined: (\w+)\.\w+$`)

// doubts reports whether an error is neither caused by empty packages nor by missing generated methods.
func (p *program) doubts(in *loader.Package, err error) bool {
	var said types.Error
	if !errors.As(err, &said) || strings.Contains(said.Msg, "DeepCopy") {
		return false
	}
	name := qualified.FindStringSubmatch(said.Msg)
	if name == nil {
		return true
	}
	for _, imported := range in.Imports() {
		if imported.Name == name[1] {
			return p.worth(imported)
		}
	}
	return false // the package was imported with another name
}

// hole returns an empty package.
func hole(path, name string) *types.Package {
	made := types.NewPackage(path, name)
	made.MarkComplete()
	return made
}

func (p *program) imported(by *loader.Package, path string) *types.Package {
	if path == "unsafe" {
		return types.Unsafe
	}
	if found := by.Imports()[path]; found != nil {
		return p.typesOf(found)
	}
	return hole(path, filepath.Base(path))
}

// importer is a types.Importer.
type importer func(path string) *types.Package

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) { return i(path), nil }

// place returns the place of a position.
func (p *program) place(at token.Pos) token.Position { return p.files.Position(at) }
