package code

import (
	"go/ast"
	"reflect"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

var conditionGeneration = &rule.Rule{
	Name: "condition-generation", Severity: rule.Warning,
	About:  "Conditions without observedGeneration, in a status that has no observedGeneration either.",
	Reason: "Right after a change of the spec, the old Ready=True is still there: clients that wait for it, such as kubectl wait or a pipeline, continue too early.",
	Fix:    "set ObservedGeneration: obj.Generation in each condition, or status.observedGeneration",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Functions {
			if mentionsGeneration(s.Code.Functions) {
				return
			}
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				literal, ok := node.(*ast.CompositeLit)
				if !ok || len(literal.Elts) < 2 || !rule.IsType(f.Info().TypeOf(literal), metaPackage, "Condition") {
					return
				}
				add(s, found, f, literal, "the condition has no observedGeneration")
			})
		}
	},
}

// mentionsGeneration reports whether a function sets an ObservedGeneration.
func mentionsGeneration(functions []*rule.Function) bool {
	const name = "ObservedGeneration"
	return slices.ContainsFunc(functions, func(f *rule.Function) bool {
		return syntax.Any(f.Decl.Body, func(n *ast.KeyValueExpr) bool { return named(n.Key, name) }) ||
			syntax.Any(f.Decl.Body, func(n *ast.AssignStmt) bool {
				return slices.ContainsFunc(n.Lhs, func(left ast.Expr) bool { return named(left, name) })
			})
	})
}

var requiredOmitted = &rule.Rule{
	Name: "required-omitted", Severity: rule.Error,
	About:  "A required field with omitempty whose zero value is valid.",
	Reason: "If its value is 0, false or \"\", a Go client sends the object without the field and the API server rejects it: operators cannot write what users can.",
	Fix:    "remove omitempty, make the field a pointer, or forbid the zero value (Minimum=1, MinLength=1)",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.Versions() {
			for _, part := range []string{"spec", "status"} {
				v.Fields(part, func(f *rule.Field) { checkOmitted(s, found, f) })
			}
		}
	},
}

func checkOmitted(s *rule.Subject, found *rule.Findings, f *rule.Field) {
	if len(f.Steps) < 2 || f.Steps[len(f.Steps)-1] == "[]" || !isRequired(f) || refusesZero(f) || f.Schema.Default != nil {
		return
	}
	origin := s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps)
	if origin == nil || origin.Field == nil || origin.Field.Tag == nil {
		return
	}
	if _, pointer := origin.Field.Type.(*ast.StarExpr); pointer {
		return
	}
	tag := reflect.StructTag(strings.Trim(origin.Field.Tag.Value, "`")).Get("json")
	if !strings.Contains(tag, ",omitempty") || !s.Once(origin.Place) {
		return
	}
	one := found.Add(origin.Place, "%s is required, but omitempty drops its zero value", f)
	one.Also = origin.Also
}

func isRequired(f *rule.Field) bool {
	return slices.Contains(f.Parent.Required, f.Steps[len(f.Steps)-1])
}

// refusesZero reports whether the schema rejects the zero value that omitempty leaves out, so that omitempty changes nothing.
// Structs are never left out.
func refusesZero(f *rule.Field) bool {
	switch f.Schema.Type {
	case "string":
		return f.Schema.MinLength != nil && *f.Schema.MinLength > 0 || len(f.Schema.Enum) > 0 || f.Schema.Pattern != "" || f.Schema.Format != ""
	case "integer", "number":
		return f.Schema.Minimum != nil && (*f.Schema.Minimum > 0 || *f.Schema.Minimum == 0 && f.Schema.ExclusiveMinimum) ||
			f.Schema.Maximum != nil && *f.Schema.Maximum < 0 || f.Schema.XIntOrString
	case "boolean":
		return false
	case "array":
		return f.Schema.MinItems != nil && *f.Schema.MinItems > 0
	}
	return true
}
