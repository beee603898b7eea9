package rule

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// Paths of packages whose functions the rules know.
const (
	ControllerRuntime = "sigs.k8s.io/controller-runtime"
	ClientPackage     = ControllerRuntime + "/pkg/client"
	ReconcilePackage  = ControllerRuntime + "/pkg/reconcile"
	UtilPackage       = ControllerRuntime + "/pkg/controller/controllerutil"
	OperonPackage     = "github.com/operon-framework/operon"
)

// Reconcilers returns the Reconcile methods of controller-runtime reconcilers.
func (c *Code) Reconcilers() []*Function {
	return c.functions(func(f *Function) bool {
		return f.Decl.Recv != nil && f.Object.Name() == "Reconcile" && ReturnsResult(f)
	})
}

// Workers returns the functions that are called again and again to reconcile an object: reconcilers and the methods of
// Operon's composers.
func (c *Code) Workers() []*Function {
	return append(c.Reconcilers(), c.functions(func(f *Function) bool { return f.Decl.Recv != nil && composes(f) })...)
}

// composes reports whether a function is a method that Operon calls.
func composes(f *Function) bool {
	parameters := f.Object.Signature().Params()
	for i := range parameters.Len() {
		if named := namedOf(parameters.At(i).Type()); named != nil && IsType(named, OperonPackage, "Composition", "Observed") {
			return true
		}
	}
	return false
}

// ReturnsResult reports whether a function returns a reconcile.Result and an error.
func ReturnsResult(f *Function) bool {
	results := f.Object.Signature().Results()
	if results.Len() != 2 {
		return false
	}
	return IsType(results.At(0).Type(), ReconcilePackage, "Result")
}

// IsType reports whether t, or the type that it points to, is one of the named types of a package.
func IsType(t types.Type, path string, names ...string) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path && slices.Contains(names, named.Obj().Name())
}

// Callee returns the called function, or nil if a function value is called.
func Callee(info *types.Info, call *ast.CallExpr) *types.Func {
	found, _ := typeutil.Callee(info, call).(*types.Func)
	return found
}

// Calls reports whether a call calls one of the named functions or methods of a package.
func Calls(info *types.Info, call *ast.CallExpr, path string, names ...string) bool {
	callee := Callee(info, call)
	return callee != nil && callee.Pkg() != nil && callee.Pkg().Path() == path && slices.Contains(names, callee.Name())
}

// Request is a call of controller-runtime's client.
type Request struct {
	Call *ast.CallExpr
	// Verb is the method: Get, List, Create, Update, Patch, Delete, DeleteAllOf, Apply; or CreateOrUpdate and
	// CreateOrPatch of controllerutil.
	Verb string
	// Status reports that the request is for the subresource status.
	Status bool
	// Client is the expression that the method is called on, or nil if the client is an argument.
	Client ast.Expr
	// Object is the argument that is read or written.
	Object ast.Expr
}

// objectAt is the index of the object among the arguments of a client's method.
var objectAt = map[string]int{"Get": 2, "List": 1, "Create": 1, "Update": 1, "Patch": 1, "Delete": 1, "DeleteAllOf": 1, "Apply": 1}

// RequestOf returns a call as a request of the client, or nil if it is not a request.
func RequestOf(info *types.Info, call *ast.CallExpr) *Request {
	if Calls(info, call, UtilPackage, "CreateOrUpdate", "CreateOrPatch") && len(call.Args) > 2 {
		return &Request{Call: call, Verb: Callee(info, call).Name(), Object: call.Args[2]}
	}
	callee := Callee(info, call)
	if callee == nil || callee.Pkg() == nil || callee.Pkg().Path() != ClientPackage || callee.Signature().Recv() == nil {
		return nil
	}
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	at, known := objectAt[callee.Name()]
	if !ok || !known || len(call.Args) <= at {
		return nil
	}
	receiver := callee.Signature().Recv().Type().String()
	if !strings.HasSuffix(receiver, "Writer") && !strings.HasSuffix(receiver, "Reader") && !strings.HasSuffix(receiver, "Client") {
		return nil
	}
	status := strings.Contains(receiver, "SubResource")
	return &Request{Call: call, Verb: callee.Name(), Status: status, Client: selector.X, Object: call.Args[at]}
}

// Writes reports whether the request changes the object as a whole.
func (r *Request) Writes() bool { return r.Verb != "Get" && r.Verb != "List" }

// Requests visits the requests in a body, each with the nodes around it, the outermost first.
func (f *Function) Requests(visit func(r *Request, within []ast.Node)) {
	f.Inspect(func(node ast.Node, within []ast.Node) {
		if call, ok := node.(*ast.CallExpr); ok {
			if request := RequestOf(f.Info(), call); request != nil {
				visit(request, within)
			}
		}
	})
}

// Inspect visits the nodes of a body, each with the nodes around it, the outermost first.
func (f *Function) Inspect(visit func(node ast.Node, within []ast.Node)) {
	var within []ast.Node
	ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
		if node == nil {
			within = within[:len(within)-1]
			return true
		}
		visit(node, within)
		within = append(within, node)
		return true
	})
}

// TypeOf returns the named type of an object that is passed as a pointer, or nil if it is an interface.
func (f *Function) TypeOf(object ast.Expr) *types.TypeName {
	t := f.Info().TypeOf(object)
	if t == nil {
		return nil
	}
	named := namedOf(t)
	if named == nil || types.IsInterface(named) {
		return nil
	}
	return named.Obj()
}

// Root returns the variable at the beginning of an expression: app of &app.Spec.Size.
func (f *Function) Root(e ast.Expr) types.Object {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			return f.Info().ObjectOf(x)
		case *ast.UnaryExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// Parameter reports whether a variable is one of f's parameters.
func (f *Function) Parameter(object types.Object) bool {
	parameters := f.Object.Signature().Params()
	for i := range parameters.Len() {
		if parameters.At(i) == object {
			return true
		}
	}
	return false
}

// Primary returns the kind that a reconciler reconciles: the type of its second parameter, or else of the first object that
// it gets by the request's name. It returns nil if the kind is unknown.
func (c *Code) Primary(reconciler *Function) *types.TypeName {
	parameters := reconciler.Object.Signature().Params()
	if parameters.Len() < 2 {
		return nil
	}
	second := parameters.At(1)
	if named := namedOf(second.Type()); named != nil && IsObject(second.Type()) {
		return named.Obj()
	}
	var primary *types.TypeName
	reconciler.Requests(func(r *Request, _ []ast.Node) {
		if primary == nil && r.Verb == "Get" && reconciler.Root(r.Call.Args[1]) == second {
			primary = reconciler.TypeOf(r.Object)
		}
	})
	return primary
}

// IsObject recognizes the type of a Kubernetes object by a method that requests do not have.
func IsObject(t types.Type) bool {
	found, _, _ := types.LookupFieldOrMethod(t, true, nil, "GetObjectKind")
	_, method := found.(*types.Func)
	return method
}
