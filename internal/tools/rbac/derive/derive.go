package derive

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Derived holds the permissions that the code of a project needs.
type Derived struct {
	// Operator is the name that is passed to operon.Main, or "" if it is not constant.
	Operator string
	// Rules are the rules. Each combination of resource, name and namespace occurs once.
	Rules []Rule
	// Notes describe facts that the code does not determine.
	Notes []Note
	// Doubted reports that the code may not compile. In this case, the rules may be wrong.
	Doubted bool
}

// Note describes something that the code does not determine.
type Note struct {
	Place token.Position
	Text  string
}

func (n Note) String() string { return fmt.Sprintf("%s: %s", n.Place, n.Text) }

var errNoFiles = errors.New("derive permissions: Files is nil: want the file set that the packages were loaded with")

// Derive finds the permissions that the composers of a project and an API that it serves itself need. A project without
// either needs none. Nothing is written.
func Derive(ctx *genall.GenerationContext, files *token.FileSet, shards bool) (*Derived, error) {
	if !usesOperon(ctx.Roots) {
		return &Derived{}, nil
	}
	if files == nil {
		return nil, errNoFiles
	}
	p := check(ctx, files)
	d := &deriving{program: p, index: p.index(), shards: shards}
	all, name := d.composers(), d.operator()
	serves := d.serves(name)
	if len(all) == 0 && !serves {
		return &Derived{Notes: d.notes, Doubted: p.doubted}, nil
	}
	for _, c := range all {
		d.managed(c)
		d.asked(c, name)
		d.reached(c)
	}
	d.process(name, all)
	return &Derived{Operator: name, Rules: merged(d.rules), Notes: d.tellable(), Doubted: p.doubted}, nil
}

// deriving is the state of a derivation.
type deriving struct {
	*program
	*index
	shards bool
	rules  []Rule
	notes  []Note
}

func (d *deriving) note(at token.Pos, format string, args ...any) {
	d.notes = append(d.notes, Note{d.place(at), fmt.Sprintf(format, args...)})
}

// tellable returns the notes in order, each once.
func (d *deriving) tellable() []Note {
	slices.SortFunc(d.notes, func(a, b Note) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(d.notes)
}

func (d *deriving) may(verbs []string, of kind, why string) { d.mayOn(verbs, of, "", why) }

// mayOn is like may, for a subresource.
func (d *deriving) mayOn(verbs []string, of kind, subresource, why string) {
	resource := of.Resource
	if subresource != "" {
		resource += "/" + subresource
	}
	d.rules = append(d.rules, Rule{Of: rbac.Permission{Group: of.Group, Resource: resource}, Verbs: verbs, Why: why})
}

func (d *deriving) mayNamed(verbs []string, of kind, name, namespace, why string) {
	d.rules = append(d.rules, Rule{Of: rbac.Permission{Group: of.Group, Resource: of.Resource, Name: name, Namespace: namespace}, Verbs: verbs, Why: why})
}

// reached finds the permissions that a composer's methods need.
func (d *deriving) reached(c *composer) {
	sites := d.walk(c)
	held := c.has("ComposeExternal", "Finalize") || len(c.options["ApplySets"])+len(c.options["RetireFinalizers"]) > 0 || d.shards
	declares := false
	for _, s := range sites {
		switch {
		case isMethod(s.callee, operonPath, "Composition", "Child"):
			declares = true
			held = d.child(c, s) || held
		case isMethod(s.callee, operonPath, "Composition", "GeneratedSecret"):
			declares = true
			held = d.child(c, asChild(s)) || held
		case isMethod(s.callee, operonPath, "Composition", "Label"), isMethod(s.callee, operonPath, "Composition", "Annotate"):
			held = true
		case isRead(s.callee):
			d.read(s)
		default:
			d.library(c, s)
		}
	}
	held = held || d.undoes(c, sites)
	if declares {
		d.mayOn(update, c.kind, "finalizers", "children refer to their owner")
	}
	if held {
		d.may(patch, c.kind, "finalizers and marks of the object itself")
	}
}

// undoes reports whether a workflow of the composer may have to be undone.
func (d *deriving) undoes(c *composer, sites []*site) bool {
	if !c.has("RunWorkflow") {
		return false
	}
	for of := range d.values {
		field, ok := of.(*types.Var)
		if ok && field.IsField() && (field.Name() == "Undo" || field.Name() == "Finally") && field.Pkg() != nil && field.Pkg().Path() == operonPath+"/durable" {
			return true
		}
	}
	return slices.ContainsFunc(sites, func(s *site) bool { return isOf(s.callee, stepsPath, "Job", "Save", "Scale") })
}

// isMethod reports whether a function is a method of a type in a package and has one of the names.
func isMethod(f *types.Func, path, of string, names ...string) bool {
	return isOf(f, path, names...) && receiverOf(f) == of
}

// receiverOf returns the name of a method's receiver type.
func receiverOf(f *types.Func) string {
	receiver := f.Type().(*types.Signature).Recv()
	if receiver == nil {
		return ""
	}
	is := types.Unalias(receiver.Type())
	if pointer, ok := is.(*types.Pointer); ok {
		is = types.Unalias(pointer.Elem())
	}
	if named, ok := is.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// kindsOf returns the kinds that an argument of a call may have. If a kind is unknown, it adds a note with the marker to
// write, unless the marker exists.
func (d *deriving) kindsOf(s call, nth int, what string) []kind {
	said, told := d.markersAt(s.Pos())
	if told {
		return said
	}
	arg := argument(s, nth)
	if arg == nil {
		return nil
	}
	t := d.trace(d.index, source{unit: s.unit, expr: arg})
	var kinds []kind
	for named := range t.found {
		if k, ok := d.kindOf(named); ok {
			kinds = append(kinds, k)
			continue
		}
		d.note(s.Pos(), "%s: the API group of %s is not known: %s", what, named, marker)
	}
	for _, from := range t.loose {
		if k, ok := d.looseKind(from); ok {
			kinds = append(kinds, k)
			continue
		}
		d.note(s.Pos(), "%s: its kind is not known before the operator runs: %s", what, marker)
	}
	if len(kinds) == 0 && len(t.found)+len(t.loose) == 0 {
		d.note(s.Pos(), "%s: the kind of the object is unknown: %s", what, marker)
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.Group+"/"+a.Resource, b.Group+"/"+b.Resource) })
	return slices.Compact(kinds)
}

// marker describes what to write if the code does not determine the kind.
const marker = "write above it // +operon:kind:group=GROUP,resource=PLURAL, with ,scope=Cluster at the end if it is cluster-scoped"
