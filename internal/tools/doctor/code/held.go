package code

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

var secretCache = &rule.Rule{
	Name: "secret-cache", Severity: rule.Warning,
	About:  "A manager that caches every Secret of the cluster because the operator reads or watches Secrets.",
	Reason: "The operator needs permission to list all Secrets and keeps all of them in memory, which grows with what others store: in clusters with large Helm releases it runs out of memory.",
	Fix:    "read Secrets uncached (client.CacheOptions.DisableFor), or limit the cache by label or namespace (cache.Options.ByObject), and watch with builder.OnlyMetadata",
	Check: func(s *rule.Subject, found *rule.Findings) {
		limits := limitsOf(s.Code)
		if !limits.manager || limits.cache {
			return
		}
		secret := held{"Secret", limits.uncached, limits.live, newHomes(s.Code)}
		eachCall(s.Code, func(f *rule.Function, call *ast.CallExpr) {
			how := secret.watched(f, call)
			if how == "" {
				how = secret.read(f, call)
			}
			if how != "" && s.Once(secretCacheOnce{}) {
				add(s, found, f, call, "%s caches all Secrets of the cluster", how)
			}
		})
	},
}

var configMapCache = &rule.Rule{
	Name: "configmap-cache", Severity: rule.Advice,
	About:  "A manager that caches every ConfigMap of the cluster because the operator reads one of them, although it watches none.",
	Reason: "The first Get starts a watch of all ConfigMaps: the operator needs permission to list them, and its memory grows with what others store. Nothing uses the events.",
	Fix:    "read the ConfigMap uncached (client.CacheOptions.DisableFor), or limit the cache by name or namespace (cache.Options.ByObject)",
	Check: func(s *rule.Subject, found *rule.Findings) {
		limits := limitsOf(s.Code)
		if !limits.manager || limits.cache {
			return
		}
		configMap := held{"ConfigMap", limits.uncached, limits.live, newHomes(s.Code)}
		wanted := false // or the watched kind is unknown
		eachCall(s.Code, func(f *rule.Function, call *ast.CallExpr) {
			wanted = wanted || configMap.watched(f, call) != "" || watches(f, call) && f.TypeOf(call.Args[0]) == nil
		})
		if wanted {
			return
		}
		eachCall(s.Code, func(f *rule.Function, call *ast.CallExpr) {
			if how := configMap.read(f, call); how != "" && s.Once(configMapCacheOnce{}) {
				add(s, found, f, call, "%s caches all ConfigMaps of the cluster", how)
			}
		})
	},
}

// configMapCacheOnce: see secretCacheOnce.
type configMapCacheOnce struct{}

// eachCall visits all calls.
func eachCall(c *rule.Code, visit func(f *rule.Function, call *ast.CallExpr)) {
	for _, f := range c.Functions {
		f.Inspect(func(node ast.Node, _ []ast.Node) {
			if call, ok := node.(*ast.CallExpr); ok {
				visit(f, call)
			}
		})
	}
}

// secretCacheOnce limits the rule to one finding, because there is one cache.
type secretCacheOnce struct{}

// limits describes the manager's cache, as far as the code shows it.
type limits struct {
	manager  bool // there is one
	cache    bool // its cache is limited, or configured in a way that the rule cannot read
	uncached bool // its client reads Secrets from the API server
	live     bool // there are other clients, which have no cache
}

func limitsOf(c *rule.Code) limits {
	var l limits
	for _, f := range c.Functions {
		l.live = l.live || calls(f.Info(), f.Decl.Body, rule.ClientPackage, "New", "NewWithWatch")
		l.manager = l.manager || calls(f.Info(), f.Decl.Body, managerPackage, "New") || newManager(f)
		ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CompositeLit:
				if rule.IsType(f.Info().TypeOf(n), rule.ControllerRuntime+"/pkg/cache", "Options", "ByObject", "Config") {
					l.cache = true
				}
			case *ast.KeyValueExpr:
				l.cache = l.cache || named(n.Key, "NewCache") || named(n.Key, "NewClient")
				l.uncached = l.uncached || named(n.Key, "DisableFor")
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					l.cache = l.cache || named(left, "NewCache") || named(left, "Cache") || named(left, "ByObject") || named(left, "DefaultNamespaces")
					l.uncached = l.uncached || named(left, "DisableFor")
				}
			}
			return true
		})
	}
	return l
}

// newManager reports whether a function calls ctrl.NewManager, which is a variable.
func newManager(f *rule.Function) bool {
	return syntax.Any(f.Decl.Body, func(call *ast.CallExpr) bool {
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "NewManager" {
			return false
		}
		object := f.Info().Uses[selector.Sel]
		return object != nil && object.Pkg() != nil && object.Pkg().Path() == rule.ControllerRuntime
	})
}

// held is a core kind that the cache may hold.
type held struct {
	kind     string
	uncached bool // the client reads some kinds from the API server
	live     bool // there are clients without a cache besides the manager's
	homes    *homes
}

// watched describes a call that makes the cache hold objects of the kind because it watches them, or returns "".
func (h held) watched(f *rule.Function, call *ast.CallExpr) string {
	if !watches(f, call) || !h.is(f.Info().TypeOf(call.Args[0])) || mentionsMetadata(call) {
		return ""
	}
	return rule.Callee(f.Info(), call).Name() + "(&corev1." + h.kind + "{})"
}

func watches(f *rule.Function, call *ast.CallExpr) bool {
	return rule.Calls(f.Info(), call, builderPackage, "Owns", "Watches", "For") && len(call.Args) > 0
}

// read describes a call that reads the kind through the cache, or returns "".
func (h held) read(f *rule.Function, call *ast.CallExpr) string {
	r := rule.RequestOf(f.Info(), call)
	if r == nil || h.uncached || r.Client == nil || !cached(f, r) || h.live && !h.homes.has(f, r.Client) {
		return ""
	}
	if (r.Verb == "Get" || r.Verb == "List") && h.is(f.Info().TypeOf(r.Object)) {
		return "the " + r.Verb + " of a " + h.kind
	}
	return ""
}

func (h held) is(t types.Type) bool { return rule.IsType(t, corePackage, h.kind, h.kind+"List") }

// mentionsMetadata reports whether builder.OnlyMetadata is among the arguments.
func mentionsMetadata(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(argument ast.Expr) bool { return named(argument, "OnlyMetadata") })
}
