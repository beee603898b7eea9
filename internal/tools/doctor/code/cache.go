package code

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

const (
	corePackage    = "k8s.io/api/core/v1"
	builderPackage = rule.ControllerRuntime + "/pkg/builder"
	managerPackage = rule.ControllerRuntime + "/pkg/manager"
)

var staleRead = &rule.Rule{
	Name: "stale-read", Severity: rule.Warning,
	About:  "An object that is read from the cache right after it was written.",
	Reason: "The cache receives the write later: the read returns the old object, and the code decides based on stale data or causes a conflict.",
	Fix:    "continue with the object that the write returned, or return and wait for the event that the write triggers",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				block, ok := node.(*ast.BlockStmt)
				if !ok {
					return
				}
				for i := range block.List {
					if read := readAfter(f, block.List, i); read != nil {
						add(s, found, f, read.Call, "%s is read from the cache right after it was written", short(f.TypeOf(read.Object)))
					}
				}
			})
		}
	},
}

// readAfter returns the read in statement i if an earlier statement of the same block wrote that kind of object.
func readAfter(f *rule.Function, block []ast.Stmt, i int) *rule.Request {
	read := straight(f.Info(), block[i])
	if read == nil || read.Verb != "Get" || read.Status || f.TypeOf(read.Object) == nil || !cached(f, read) {
		return nil
	}
	for _, earlier := range block[:i] {
		wrote := straight(f.Info(), earlier)
		if wrote == nil || !wrote.Writes() || wrote.Verb == "Delete" || f.TypeOf(wrote.Object) != f.TypeOf(read.Object) {
			continue
		}
		if f.Root(wrote.Object) == f.Root(read.Object) || sameKey(f, wrote, read) {
			return read
		}
	}
	return nil
}

// sameKey reports whether a Get uses the key of the written object.
func sameKey(f *rule.Function, wrote, read *rule.Request) bool {
	root := f.Root(wrote.Object)
	return root != nil && uses(f.Info(), read.Call.Args[1], root)
}

// straight returns the request that a statement makes unconditionally: in the statement itself, or in the init of an if.
func straight(info *types.Info, statement ast.Stmt) *rule.Request {
	switch n := statement.(type) {
	case *ast.IfStmt:
		if n.Init == nil {
			return nil
		}
		return request(info, n.Init)
	case *ast.AssignStmt, *ast.ExprStmt:
		return request(info, n)
	}
	return nil
}

// cached reports whether a client reads from the cache, according to its type. A client.Reader may read from the API server.
func cached(f *rule.Function, r *rule.Request) bool {
	t := f.Info().TypeOf(r.Client)
	return t != nil && !rule.IsType(t, rule.ClientPackage, "Reader")
}

var sharedState = &rule.Rule{
	Name: "shared-state", Severity: rule.Error,
	About:  "A map in the reconciler that concurrent reconciles write without a lock.",
	Reason: "Two concurrent writes crash the process; a concurrent write and read may do so.",
	Fix:    "guard it with a sync.Mutex, or use a sync.Map; or keep no state in the reconciler, because a restart loses it",
	Check: func(s *rule.Subject, found *rule.Findings) {
		if !concurrent(s.Code.Functions) {
			return
		}
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			if locks(f) {
				continue
			}
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				if field := written(f, node); field != nil && !locksAbove(s, f) {
					add(s, found, f, node, "%s is written by concurrent reconciles", text(field))
				}
			})
		}
	},
}

// concurrent reports whether MaxConcurrentReconciles is greater than one or unknown.
func concurrent(functions []*rule.Function) bool {
	return slices.ContainsFunc(functions, func(f *rule.Function) bool {
		return syntax.Any(f.Decl.Body, func(pair *ast.KeyValueExpr) bool {
			value := f.Info().Types[pair.Value].Value
			return named(pair.Key, "MaxConcurrentReconciles") && (value == nil || constant.Compare(value, token.GTR, constant.MakeInt64(1)))
		})
	})
}

func locks(f *rule.Function) bool {
	return calls(f.Info(), f.Decl.Body, "sync", "Lock")
}

func locksAbove(s *rule.Subject, f *rule.Function) bool {
	return slices.ContainsFunc(s.Code.Callers(f, s.Code.Functions), locks)
}

// written returns the map in a field of the receiver that a node writes to.
func written(f *rule.Function, node ast.Node) ast.Expr {
	var places []ast.Expr
	switch n := node.(type) {
	case *ast.AssignStmt:
		places = n.Lhs
	case *ast.IncDecStmt:
		places = []ast.Expr{n.X}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "delete" && len(n.Args) == 2 {
			return ofReceiver(f, n.Args[0])
		}
	}
	for _, place := range places {
		if index, ok := ast.Unparen(place).(*ast.IndexExpr); ok {
			if field := ofReceiver(f, index.X); field != nil {
				return field
			}
		}
	}
	return nil
}

// ofReceiver returns e if it is a map in a field of the receiver.
func ofReceiver(f *rule.Function, e ast.Expr) ast.Expr {
	selector, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok || f.Object.Signature().Recv() == nil || f.Root(selector) != types.Object(f.Object.Signature().Recv()) {
		return nil
	}
	if _, isMap := f.Info().TypeOf(selector).Underlying().(*types.Map); !isMap {
		return nil
	}
	return selector
}
