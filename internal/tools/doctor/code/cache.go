package code

import (
	"go/ast"
	"go/types"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
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
