package crds

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Names of the markers.
const (
	gateMarker = "operon:feature-gate"
	longMarker = "operon:description:max"
)

// Generator generates CustomResourceDefinitions.
//
// Guarantees: without the two markers, its output is identical to the output of controller-tools, byte for byte. A feature
// gate that no field names is an error, so that misspelled names are detected. Caveats: generators of Go code see gated
// fields, because they are fields of the Go type.
type Generator struct {
	crd.Generator
	// Gates are the feature gates whose fields are part of the definitions.
	Gates []string
}

var (
	gate       = markers.Must(markers.MakeDefinition(gateMarker, markers.DescribesField, ""))
	longOfType = markers.Must(markers.MakeDefinition(longMarker, markers.DescribesType, 0))
	longOf     = markers.Must(markers.MakeDefinition(longMarker, markers.DescribesField, 0))
)

// RegisterMarkers implements genall.Generator.
func (g Generator) RegisterMarkers(into *markers.Registry) error {
	return errors.Join(g.Generator.RegisterMarkers(into), into.Register(gate), into.Register(longOfType), into.Register(longOf))
}

// Generate implements genall.Generator.
func (g Generator) Generate(ctx *genall.GenerationContext) error {
	e := hide(ctx, g.Gates)
	defer e.undo()
	for _, gate := range g.Gates {
		if !slices.Contains(e.named, gate) {
			return fmt.Errorf("no field has the feature gate %q: there %s", gate, e.known())
		}
	}
	return g.Generator.Generate(ctx)
}

// Hide hides the fields behind feature gates that are not in gates from all generators of schemas, until back is called.
func Hide(ctx *genall.GenerationContext, gates []string) (back func()) {
	return hide(ctx, gates).undo
}

func hide(ctx *genall.GenerationContext, gates []string) *edits {
	e := &edits{gates: gates}
	for _, root := range ctx.Roots {
		nodes, err := ctx.Collector.MarkersInPackage(root)
		if err != nil {
			root.AddError(err)
			continue
		}
		e.in(root, nodes)
	}
	return e
}

// edits records the changes of the syntax trees and how to revert them.
type edits struct {
	gates, named []string
	back         []func()
}

func (e *edits) undo() {
	for _, back := range e.back {
		back()
	}
}

func (e *edits) known() string {
	if len(e.named) == 0 {
		return "are none"
	}
	slices.Sort(e.named)
	return "are " + strings.Join(slices.Compact(e.named), ", ")
}

// in changes the types of a package.
func (e *edits) in(root *loader.Package, nodes map[ast.Node]markers.MarkerValues) {
	for _, file := range root.Syntax {
		for _, declared := range file.Decls {
			block, ok := declared.(*ast.GenDecl)
			if !ok || block.Tok != token.TYPE {
				continue
			}
			for _, one := range block.Specs {
				if spec, ok := one.(*ast.TypeSpec); ok {
					e.ofType(root, nodes, block, spec)
				}
			}
		}
	}
}

func (e *edits) ofType(root *loader.Package, nodes map[ast.Node]markers.MarkerValues, block *ast.GenDecl, spec *ast.TypeSpec) {
	most, limited := nodes[spec].Get(longMarker).(int)
	if limited {
		e.shorten(root, spec, &spec.Doc, most)
		e.shorten(root, spec, &block.Doc, most)
	}
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range fields.Fields.List {
		if name, gated := nodes[field].Get(gateMarker).(string); gated {
			e.hide(root, field, name)
		}
		own, ok := nodes[field].Get(longMarker).(int)
		if ok || limited {
			e.shorten(root, field, &field.Doc, pick(ok, own, most))
		}
	}
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// hide marks a field as not stored unless its feature gate is enabled.
func (e *edits) hide(root *loader.Package, field *ast.Field, name string) {
	if name == "" || strings.ContainsAny(name, " ,") {
		root.AddError(loader.ErrFromNode(fmt.Errorf("+%s=%s: want one name, such as NewStorage", gateMarker, name), field))
		return
	}
	e.named = append(e.named, name)
	if slices.Contains(e.gates, name) {
		return
	}
	before := field.Tag
	field.Tag = &ast.BasicLit{ValuePos: field.End(), Kind: token.STRING, Value: "`json:\"-\"`"}
	e.back = append(e.back, func() { field.Tag = before })
}

// shorten shortens a comment.
func (e *edits) shorten(root *loader.Package, at ast.Node, comment **ast.CommentGroup, most int) {
	before := *comment
	if before == nil {
		return
	}
	if most < 0 {
		root.AddError(loader.ErrFromNode(fmt.Errorf("+%s=%s: want a number of bytes, 0 for no description", longMarker, strconv.Itoa(most)), at))
		return
	}
	*comment = nil
	if kept := cut(before.Text(), most); kept != "" {
		*comment = &ast.CommentGroup{List: []*ast.Comment{{Slash: before.Pos(), Text: "// " + kept}}}
	}
	e.back = append(e.back, func() { *comment = before })
}

// cut returns as many whole sentences of a comment as fit, or else as many words. Markers are not part of the text.
func cut(comment string, most int) string {
	var said []string
	for line := range strings.Lines(comment) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "+") {
			said = append(said, line)
		}
	}
	text := strings.Join(said, " ")
	if len(text) <= most {
		return text
	}
	if end := strings.LastIndex(text[:most], ". "); end > 0 {
		return text[:end+1]
	}
	if strings.HasSuffix(text[:most], ".") {
		return text[:most]
	}
	return strings.TrimSpace(text[:max(0, strings.LastIndex(text[:most], " "))])
}

// IsMetadata reports whether a field of a struct is the embedded metadata of objects.
func IsMetadata(field *ast.Field) bool {
	if len(field.Names) > 0 {
		return false
	}
	switch of := field.Type.(type) {
	case *ast.SelectorExpr:
		return of.Sel.Name == "ObjectMeta"
	case *ast.Ident: // with a dot import
		return of.Name == "ObjectMeta"
	}
	return false
}
