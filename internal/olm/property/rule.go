package property

import (
	"errors"
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Limits on rules, which are untrusted. A usual rule costs some hundreds for a bundle.
const (
	maxCost      = 100_000   // for one bundle
	maxTotalCost = 5_000_000 // for all bundles that a rule is evaluated for: less than a second
)

// errCost means that a rule is too expensive, so that the bundle with the rule cannot be used.
var errCost = errors.New("the rule is too expensive to evaluate")

// Rules compiles the rules of constraints. The environment has the variable properties, a list of objects with the fields type and value, and
// the function semver_compare(a, b).
type Rules struct {
	env      *cel.Env
	compiled map[string]*compiledRule
}

type compiledRule struct {
	is  Condition
	err error
}

func (r *Rules) environment() (*cel.Env, error) {
	if r.env != nil {
		return r.env, nil
	}
	compare := cel.Overload("semver_compare_any_string", []*cel.Type{cel.DynType, cel.StringType}, cel.IntType, cel.BinaryBinding(compareVersions))
	env, err := cel.NewEnv(
		cel.EnableMacroCallTracking(), // for propertyOf
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Function("semver_compare", compare),
	)
	r.env = env
	return env, err
}

// compareVersions returns -1, 0 or 1. As in the Operator Lifecycle Manager, it accepts versions such as v1.2.
func compareVersions(a, b ref.Val) ref.Val {
	var parsed [2]semver.Version
	for i, value := range []ref.Val{a, b} {
		version, err := semver.ParseTolerant(fmt.Sprint(value.Value()))
		if err != nil {
			return types.NewErr("%v is not a semantic version", value.Value())
		}
		parsed[i] = version
	}
	return types.Int(parsed[0].Compare(parsed[1]))
}

// condition returns the condition that a rule is true for the properties of a bundle. A rule that fails for a bundle, such as a comparison of
// a text with a number, is not met by it.
func (r *Rules) condition(rule, message string) (Condition, error) {
	if known, ok := r.compiled[rule]; ok {
		return known.is.named(message), known.err
	}
	made := &compiledRule{}
	made.is, made.err = r.compile(rule)
	if r.compiled == nil {
		r.compiled = map[string]*compiledRule{}
	}
	r.compiled[rule] = made
	return made.is.named(message), made.err
}

func (c Condition) named(message string) Condition {
	if message != "" && c.Meets != nil {
		c.Text = fmt.Sprintf("an operator with %q", message)
	}
	return c
}

func (r *Rules) compile(rule string) (Condition, error) {
	if rule == "" {
		return Condition{}, errors.New("want a rule")
	}
	env, err := r.environment()
	if err != nil {
		return Condition{}, err
	}
	compiled, issues := env.Compile(rule)
	if issues.Err() != nil {
		return Condition{}, fmt.Errorf("%s: %s", rule, issues.Errors()[0].Message)
	}
	if compiled.OutputType() != cel.BoolType {
		return Condition{}, fmt.Errorf("%s: the rule returns %s, want bool", rule, compiled.OutputType())
	}
	program, err := env.Program(compiled, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return Condition{}, fmt.Errorf("%s: %w", rule, err)
	}
	evaluated := &evaluation{rule: rule, program: program}
	return Condition{Text: "an operator for which " + rule, Meets: evaluated.meets, Lookups: []Lookup{{Query: Query{Property: propertyOf(compiled)}}}}, nil
}

// evaluation counts the cost of a rule over all bundles.
type evaluation struct {
	rule    string
	program cel.Program
	spent   uint64
}

func (e *evaluation) meets(b *Content) (bool, error) {
	if e.spent > maxTotalCost {
		return false, fmt.Errorf("%w: %s", errCost, e.rule)
	}
	value, details, err := e.program.Eval(map[string]any{"properties": b.values()})
	cost := uint64(maxCost)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	e.spent += cost
	switch {
	case err != nil && cost >= maxCost:
		return false, fmt.Errorf("%w: %s", errCost, e.rule)
	case err != nil:
		return false, nil //nolint:nilerr // the documented meaning: a rule that fails for a bundle is not met by it
	}
	return value == types.True, nil
}

// propertyOf returns the type of property that a bundle needs for the rule to be true, or "" if this is not plain. It recognizes
// properties.exists(p, p.type == "…" && …), possibly as a part of a conjunction.
func propertyOf(compiled *cel.Ast) string {
	parsed := compiled.NativeRep()
	return propertyIn(parsed.Expr(), parsed.SourceInfo())
}

func propertyIn(e ast.Expr, info *ast.SourceInfo) string {
	if macro, ok := info.GetMacroCall(e.ID()); ok {
		call := macro.AsCall()
		if call.FunctionName() != operators.Exists || !isName(call.Target(), "properties") || len(call.Args()) != 2 {
			return ""
		}
		return typeIn(call.Args()[1], call.Args()[0].AsIdent())
	}
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd {
		return ""
	}
	for _, one := range e.AsCall().Args() {
		if found := propertyIn(one, info); found != "" {
			return found
		}
	}
	return ""
}

// typeIn finds p.type == "…" in a conjunction.
func typeIn(e ast.Expr, p string) string {
	if e.Kind() != ast.CallKind {
		return ""
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		for _, one := range call.Args() {
			if found := typeIn(one, p); found != "" {
				return found
			}
		}
	case operators.Equals:
		field, value := call.Args()[0], call.Args()[1]
		if field.Kind() == ast.LiteralKind {
			field, value = value, field
		}
		if field.Kind() == ast.SelectKind && field.AsSelect().FieldName() == "type" && isName(field.AsSelect().Operand(), p) && value.Kind() == ast.LiteralKind {
			text, _ := value.AsLiteral().Value().(string)
			return text
		}
	}
	return ""
}

func isName(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }
