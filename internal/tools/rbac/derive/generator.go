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
// Guarantees: for a project without composers, the output is identical to the output of controller-tools, byte for byte.
// Rules of markers and of composers are merged by controller-tools' own code. Assumptions: the roots are all packages of the
// project. Caveats: test files and packages that provide the project are not analyzed.
type Generator struct {
	// RoleName is the name of the Role. If it is empty, the name of the operator that is passed to operon.Main is used, or
	// Project if there is none.
	RoleName, Project string
	// HeaderFile is the file whose content is written before the Role, and Year replaces YEAR in it.
	HeaderFile, Year string
	// Shards reports that the operator runs with --shards, which needs additional permissions.
	Shards bool
	// Files is the file set with which the packages were loaded.
	Files *token.FileSet
	// Note receives a sentence, with its place, for each thing that the code does not determine. It may be nil.
	Note func(string)
	// Doubt is called if the code may not compile. It may be nil.
	Doubt func()
}

// With returns a generator for packages that were loaded with files, which reports its notes and doubts.
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

// roles returns the Roles of the markers and of the derived rules. The derived rules are passed to controller-tools as
// markers of an additional package, so that all rules are merged and sorted at one place.
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
