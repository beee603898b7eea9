package code

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

var statusClock = &rule.Rule{
	Name: "status-clock", Severity: rule.Error,
	About:  "A time or a random value that every reconcile writes into the status.",
	Reason: "Each reconcile changes the object, which triggers the next reconcile: a hot loop that also loads the API server.",
	Fix:    "set it only if something else in the status changes, as meta.SetStatusCondition does",
	Check: func(s *rule.Subject, found *rule.Findings) {
		if anywhereNamed(s.Code.Functions, "GenerationChangedPredicate") {
			return // the status does not trigger a reconcile
		}
		each := always(s.Code, s.Code.Workers(), func(f *rule.Function, call *ast.CallExpr, _ []ast.Node) bool { return !comparesBefore(f, call) })
		for _, f := range each {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				n, ok := node.(*ast.AssignStmt)
				if !ok || conditional(n, within) || comparesBefore(f, n) || guarded(f, n) {
					return
				}
				for i, left := range n.Lhs {
					if ofStatus(f.Info(), left) && i < len(n.Rhs) && changing(f, n.Rhs[i]) {
						add(s, found, f, n, "%s has a different value in each reconcile", text(left))
					}
				}
			})
		}
	},
}

// ofStatus reports whether an expression is x.Status.y of a Kubernetes object x, or a part of it.
func ofStatus(info *types.Info, e ast.Expr) bool {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			if inner, ok := ast.Unparen(x.X).(*ast.SelectorExpr); ok && inner.Sel.Name == "Status" {
				return rule.IsObject(info.TypeOf(inner.X))
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return false
		}
	}
}

// changing reports whether the value of an expression differs each time, or is a variable that is only set to such values.
func changing(f *rule.Function, e ast.Expr) bool {
	if fresh(f.Info(), e) {
		return true
	}
	variable := plain(f, e)
	if variable == nil {
		return false
	}
	set, stable := false, false
	ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
		n, ok := node.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, left := range n.Lhs {
			if plain(f, left) != variable {
				continue
			}
			set = true
			stable = stable || len(n.Rhs) != len(n.Lhs) || !fresh(f.Info(), n.Rhs[i])
		}
		return true
	})
	return set && !stable
}

// fresh reports whether an expression is the current time or a random value, also in another form, such as its text. The
// result of a comparison or a calculation may stay the same.
func fresh(info *types.Info, e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return fresh(info, x.X)
	case *ast.StarExpr:
		return fresh(info, x.X)
	case *ast.BinaryExpr:
		return x.Op == token.ADD && (fresh(info, x.X) || fresh(info, x.Y))
	case *ast.CompositeLit:
		return rule.IsType(info.TypeOf(x), metaPackage, "Time", "MicroTime") && slices.ContainsFunc(x.Elts, func(element ast.Expr) bool {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element = pair.Value
			}
			return fresh(info, element)
		})
	case *ast.CallExpr:
		return generates(info, x) || keeps(info, x)
	}
	return false
}

// generates reports whether a call returns the current time or a random value.
func generates(info *types.Info, call *ast.CallExpr) bool {
	return rule.Calls(info, call, "time", "Now") || rule.Calls(info, call, metaPackage, "Now", "NowMicro") ||
		rule.Calls(info, call, "github.com/google/uuid", "New", "NewString") || rule.Calls(info, call, "k8s.io/apimachinery/pkg/util/uuid", "NewUUID") ||
		rule.Calls(info, call, "crypto/rand", "Text") || rule.Calls(info, call, "k8s.io/apimachinery/pkg/util/rand", "String")
}

// keeps reports whether a call returns a fresh value in another form.
func keeps(info *types.Info, call *ast.CallExpr) bool {
	if info.Types[call.Fun].IsType() || rule.Calls(info, call, metaPackage, "NewTime", "NewMicroTime") || rule.Calls(info, call, "k8s.io/utils/ptr", "To") {
		return len(call.Args) == 1 && fresh(info, call.Args[0])
	}
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !fresh(info, selector.X) {
		return false
	}
	switch selector.Sel.Name {
	case "UTC", "Local", "In", "Add", "AddDate", "String", "Unix", "UnixMilli", "UnixMicro", "UnixNano", "Rfc3339Copy", "DeepCopy":
		return true
	case "Format":
		layout := info.Types[call.Args[0]].Value
		return layout != nil && strings.Contains(constant.StringVal(layout), "05") // with seconds
	}
	return false
}

// comparing matches names that compare with an earlier value, or with the time of an earlier write.
var comparing = regexp.MustCompile(`(?i)equal|diff|chang|compare|same|dirty|SetStatusCondition|^(Since|Before|After)$`)

// compares reports whether a condition in a function compares values. A call of a function or a use of a variable with such a
// name is enough.
func compares(f *rule.Function) bool { return comparesBefore(f, nil) }

// comparesBefore reports whether a condition before a node compares values.
func comparesBefore(f *rule.Function, before ast.Node) bool {
	return syntax.Any(f.Decl.Body, func(n *ast.IfStmt) bool {
		if before != nil && n.Pos() > before.Pos() {
			return false
		}
		return syntax.Any(n.Cond, func(name *ast.Ident) bool { return comparing.MatchString(name.Name) }) ||
			syntax.Any(n.Cond, func(binary *ast.BinaryExpr) bool {
				return (binary.Op == token.NEQ || binary.Op == token.EQL) && !isNil(f.Info(), binary.Y)
			})
	})
}

var statusUnconditional = &rule.Rule{
	Name: "status-unconditional", Severity: rule.Advice,
	About:  "A status that every reconcile writes, even if it has not changed.",
	Reason: "Each reconcile of each object costs a write: with many objects, a restart of the operator writes all of them.",
	Fix:    "keep a copy of the original status, and write only if equality.Semantic.DeepEqual reports a difference",
	Check: func(s *rule.Subject, found *rule.Findings) {
		reached := s.Code.Reach(s.Code.Reconcilers()...)
		for _, f := range reached {
			if compares(f) || comparesAbove(s, f, reached) {
				continue
			}
			f.Requests(func(r *rule.Request, within []ast.Node) {
				if r.Status && r.Verb == "Update" && !conditional(r.Call, within) {
					add(s, found, f, r.Call, "%s writes the status even if it has not changed", f.Object.Name())
				}
			})
		}
	},
}

// comparesAbove reports whether a direct caller of f compares values first.
func comparesAbove(s *rule.Subject, f *rule.Function, reached []*rule.Function) bool {
	return slices.ContainsFunc(s.Code.Callers(f, reached), compares)
}

var selfUpdate = &rule.Rule{
	Name: "self-update", Severity: rule.Warning,
	About:  "A Reconcile that updates its own object every time.",
	Reason: "The update triggers the next reconcile: a field that others change, or whose value differs each time, makes this a hot loop or a conflict.",
	Fix:    "update only if something changed (as `if controllerutil.AddFinalizer(obj, name)` does), keep observations in the status, and use predicate.GenerationChangedPredicate{}",
	Check: func(s *rule.Subject, found *rule.Findings) {
		if anywhereNamed(s.Code.Functions, "GenerationChangedPredicate") {
			return
		}
		for _, f := range s.Code.Reconcilers() {
			primary := s.Code.Primary(f)
			if primary == nil {
				continue
			}
			f.Requests(func(r *rule.Request, within []ast.Node) {
				if r.Status || r.Verb != "Update" || f.TypeOf(r.Object) != primary || conditional(r.Call, within) || comparesBefore(f, r.Call) || guarded(f, r.Call) {
					return
				}
				add(s, found, f, r.Call, "%s is updated in each of its own reconciles", short(primary))
			})
		}
	},
}

// anywhereNamed reports whether a name is used in one of the functions.
func anywhereNamed(functions []*rule.Function, name string) bool {
	return slices.ContainsFunc(functions, func(f *rule.Function) bool {
		return syntax.Any(f.Decl.Body, func(id *ast.Ident) bool { return id.Name == name })
	})
}

// soon is the delay below which an unconditional requeue is a hot loop.
const soon = time.Second

var requeueHot = &rule.Rule{
	Name: "requeue-hot", Severity: rule.Error,
	About:  "A reconcile that always requeues immediately or in less than a second.",
	Reason: "Each object has its own endless loop: with a thousand objects, the operator and its API server do nothing else.",
	Fix:    "return ctrl.Result{}, nil if there is nothing to do, and watch what you wait for (Owns, Watches); if you cannot watch it, use a RequeueAfter of minutes",
	Check: func(s *rule.Subject, found *rule.Findings) {
		each := always(s.Code, s.Code.Reconcilers(), func(_ *rule.Function, _ *ast.CallExpr, within []ast.Node) bool {
			_, returned := within[len(within)-1].(*ast.ReturnStmt)
			return returned
		})
		for _, f := range each {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				n, ok := node.(*ast.ReturnStmt)
				if !ok || len(n.Results) != 2 || !rule.ReturnsResult(f) || conditional(n, within) || guarded(f, n) || !isNil(f.Info(), n.Results[1]) {
					return
				}
				if why := hot(f.Info(), n.Results[0]); why != "" {
					add(s, found, f, n, "%s always ends with %s", f.Object.Name(), why)
				}
			})
		}
	},
}

// hot describes a Result that requests the next reconcile soon, or returns "".
func hot(info *types.Info, e ast.Expr) string {
	literal, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		value := info.Types[pair.Value].Value
		name, _ := pair.Key.(*ast.Ident)
		if name == nil || value == nil {
			continue
		}
		if name.Name == "Requeue" && value.Kind() == constant.Bool && constant.BoolVal(value) {
			return "Requeue: true"
		}
		if after, exact := constant.Int64Val(constant.ToInt(value)); name.Name == "RequeueAfter" && exact && after > 0 && time.Duration(after) < soon {
			return "RequeueAfter: " + time.Duration(after).String()
		}
	}
	return ""
}

var writeInLoop = &rule.Rule{
	Name: "write-in-loop", Severity: rule.Warning,
	About:  "An object that is written in each iteration of a loop.",
	Reason: "A list of a hundred items causes a hundred writes of the same object; others see intermediate states, and each write may conflict with theirs.",
	Fix:    "change the object in the loop, and write it once after the loop",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			f.Requests(func(r *rule.Request, within []ast.Node) {
				if r.Verb != "Update" && r.Verb != "Patch" {
					return
				}
				loop := looped(within)
				root := plain(f, r.Object)
				if loop == nil || root == nil || root.Pos() >= loop.Pos() && root.Pos() < loop.End() || leaves(within, loop) {
					return
				}
				if set := setIn(f, loop, root); set {
					return
				}
				add(s, found, f, r.Call, "%s is written in each iteration of the loop", text(r.Object))
			})
		}
	},
}

// plain returns the variable that is written, or nil if only a part of it is written, such as an element of a list.
func plain(f *rule.Function, object ast.Expr) types.Object {
	if address, ok := ast.Unparen(object).(*ast.UnaryExpr); ok {
		object = address.X
	}
	if name, ok := ast.Unparen(object).(*ast.Ident); ok {
		return f.Info().ObjectOf(name)
	}
	return nil
}

// looped returns the innermost range loop around a node, within its own function.
func looped(within []ast.Node) *ast.RangeStmt {
	for i := len(within) - 1; i >= 0; i-- {
		switch above := within[i].(type) {
		case *ast.RangeStmt:
			return above
		case *ast.FuncLit, *ast.ForStmt:
			return nil
		}
	}
	return nil
}

// leaves reports whether the loop ends after the write: a return or break follows in its block.
func leaves(within []ast.Node, loop *ast.RangeStmt) bool {
	for i := len(within) - 1; i >= 0 && within[i] != loop; i-- {
		block, ok := within[i].(*ast.BlockStmt)
		if !ok || block == loop.Body {
			continue
		}
		switch last := block.List[len(block.List)-1].(type) {
		case *ast.ReturnStmt:
			return true
		case *ast.BranchStmt:
			return last.Tok == token.BREAK
		}
	}
	last := loop.Body.List[len(loop.Body.List)-1]
	_, returns := last.(*ast.ReturnStmt)
	return returns
}

// setIn reports whether a loop assigns to a variable.
func setIn(f *rule.Function, loop *ast.RangeStmt, variable types.Object) bool {
	return syntax.Any(loop, func(n *ast.AssignStmt) bool {
		return slices.ContainsFunc(n.Lhs, func(left ast.Expr) bool {
			name, ok := left.(*ast.Ident)
			return ok && f.Info().ObjectOf(name) == variable
		})
	})
}
