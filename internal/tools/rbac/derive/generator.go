package derive

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
)

// Generator writes role.yaml. It is a genall.Generator.
//
// Guarantees: what a project without composers gets is, byte by byte, what controller-tools
// writes. Rules of markers and of composers are merged by controller-tools' own rules.
// Assumptions: the roots that it works on are all packages of the project.
// Caveats: files of tests and packages providers of the project are not looked at.
type Generator struct {
	// RoleName is the name of the Role. Empty: that of the operator, as operon.Main is given it, and
	// Project where it is given none.
	RoleName, Project string
	// HeaderFile is put before the Role, Year instead of its YEAR.
	HeaderFile, Year string
	// Shards: the operator is run with --shards, which takes rights of its own.
	Shards bool
	// Files is what the packages were loaded with.
	Files *token.FileSet
	// Note gets a sentence for each thing that the code does not tell, with its place. It may be nil.
	Note func(string)
	// Doubt is called if the code may not compile. It may be nil.
	Doubt func()
}

// With is the generator that works on packages which were loaded with files, and tells its notes and doubts.
func (g Generator) With(files *token.FileSet, note func(string), doubt func()) genall.Generator {
	g.Files, g.Note, g.Doubt = files, note, doubt
	return g
}

// RegisterMarkers implements genall.Generator.
func (Generator) RegisterMarkers(into *markers.Registry) error {
	return errors.Join(rbac.Generator{}.RegisterMarkers(into), crdmarkers.Register(into))
}

// Generate implements genall.Generator.
func (g Generator) Generate(ctx *genall.GenerationContext) error {
	derived, err := Derive(ctx, g.Files, g.Shards)
	if err != nil {
		return err
	}
	if derived.Doubted && g.Doubt != nil {
		g.Doubt()
	}
	for _, note := range derived.Notes {
		if g.Note != nil {
			g.Note(note.String())
		}
	}
	roles, err := g.roles(ctx, derived)
	if err != nil || len(roles) == 0 {
		return err
	}
	header, err := g.header(ctx)
	if err != nil {
		return err
	}
	return ctx.WriteYAML("role.yaml", header, roles, genall.WithTransform(genall.TransformRemoveCreationTimestamp))
}

// roles are those of the markers together with what is derived. The latter is given to controller-tools as
// markers of one more package, so that there is one place that merges and sorts.
func (g Generator) roles(ctx *genall.GenerationContext, derived *Derived) ([]any, error) {
	name := cmp.Or(g.RoleName, derived.Operator, g.Project)
	if len(derived.Rules) == 0 {
		return rbac.GenerateRoles(ctx, name)
	}
	all := *ctx
	said, err := packageOf(derived.Rules)
	if err != nil {
		return nil, err
	}
	all.Roots = append(append([]*loader.Package{}, ctx.Roots...), said)
	return rbac.GenerateRoles(&all, name)
}

func (g Generator) header(ctx *genall.GenerationContext) (string, error) {
	if g.HeaderFile == "" {
		return "", nil
	}
	text, err := ctx.ReadFile(g.HeaderFile)
	if err != nil {
		return "", fmt.Errorf("the header: %w", err)
	}
	return strings.ReplaceAll(string(text), " YEAR", " "+g.Year), nil
}
