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
	machineryPath    = "k8s.io/apimachinery/"
)

// known are packages that are looked at although no package of the project may import them.
var known = map[string]bool{
	metaPath: true, unstructuredPath: true, clientPath: true,
	"k8s.io/apimachinery/pkg/runtime": true, "k8s.io/apimachinery/pkg/runtime/schema": true, "k8s.io/apimachinery/pkg/types": true,
	"sigs.k8s.io/controller-runtime/pkg/cache/cacheapi": true, "sigs.k8s.io/controller-runtime": true, "sigs.k8s.io/controller-runtime/pkg/builder": true,
	"context": true, "errors": true, "fmt": true, "slices": true, "maps": true, "cmp": true, "iter": true, "strings": true,
}

// exposed are packages of Operon whose types its root package shows to authors.
var exposed = map[string]bool{
	"": true, "/internal/runtime/webhook": true, "/internal/runtime/action": true, "/internal/core/plan": true,
	"/durable": true, "/durable/journal": true, "/durable/steps": true, "/external": true, "/aggregated": true, "/api/actions/v1alpha1": true,
}

// unit is a package of the project, with types of all that stands in it.
type unit struct {
	*loader.Package
	types *types.Package
	info  *types.Info
}

// program is the project with types. What it imports is checked as far as it can tell kinds apart:
// declarations only, and of few packages. What is missing leaves holes in the types. Errors that they do not
// account for are a doubt: whether the code compiles the compiler says.
type program struct {
	genall.GenerationContext
	files *token.FileSet
	units []*unit

	own    map[string]*unit
	direct map[string]bool // imported by the project itself
	done   map[string]*types.Package
	byPath map[string]*loader.Package

	// doubted: there is an error in the project's own code that no hole accounts for.
	doubted bool
}

// usesOperon reports whether a package of the project could manage anything.
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

// worth reports whether a package that is imported tells kinds apart.
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

// typesOf checks a package. One that is not worth it is an empty one.
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

// doubts tells errors from those that holes make, and from those of methods that are generated.
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
	return false // another name than its own was given to a package
}

// hole is a package that nothing is known of.
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

// place says where something stands.
func (p *program) place(at token.Pos) token.Position { return p.files.Position(at) }
