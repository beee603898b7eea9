package derive

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
)

// composer is a type that is passed to operon.Manage.
type composer struct {
	managed *types.Named // the Go type of the kind
	kind    kind
	at      call
	methods map[string]*types.Func
	options map[string][]call // options of Manage, by name
}

// roles lists the methods of a composer that the runtime calls.
var roles = []string{
	"Compose", "Observe", "RunWorkflow", "Canceled", "Upgrade", "Actions", "ComposeExternal", "Finalize", "Default", "Validate", "ValidateDeletion",
}

// has reports whether the composer has one of the roles.
func (c *composer) has(some ...string) bool {
	return slices.ContainsFunc(some, func(role string) bool { return c.methods[role] != nil })
}

// converts reports whether the operator converts between versions of the kind.
func (c *composer) converts() bool {
	for _, name := range []string{"Hub", "ConvertTo", "ConvertFrom"} {
		if method, _, _ := types.LookupFieldOrMethod(types.NewPointer(c.managed), true, c.managed.Obj().Pkg(), name); method != nil {
			return true
		}
	}
	return false
}

// isOperons reports whether a function is in Operon's root package and has one of the names, if any are given.
func isOperons(f *types.Func, names ...string) bool {
	return isOf(f, operonPath, names...)
}

func isOf(f *types.Func, path string, names ...string) bool {
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == path && (len(names) == 0 || slices.Contains(names, f.Name()))
}

// composers finds the arguments of operon.Manage.
func (d *deriving) composers() []*composer {
	var all []*composer
	for _, c := range d.calls {
		if !isOperons(c.callee, "Manage") || len(c.Args) == 0 || c.callee.Type().(*types.Signature).Recv() != nil {
			continue
		}
		made, ok := d.composer(c)
		if !ok {
			d.note(c.Pos(), "operon.Manage: the kind of the composer is unknown: Compose must take a pointer to a Go type of an API group")
			continue
		}
		all = append(all, made)
	}
	return all
}

func (d *deriving) composer(c call) (*composer, bool) {
	is := c.info.TypeOf(c.Args[0])
	if is == nil {
		return nil, false
	}
	made := &composer{at: c, methods: map[string]*types.Func{}, options: map[string][]call{}}
	for _, role := range roles {
		found, _, _ := types.LookupFieldOrMethod(is, true, c.types, role)
		if method, ok := found.(*types.Func); ok {
			made.methods[role] = method
		}
	}
	compose := made.methods["Compose"]
	if compose == nil || compose.Type().(*types.Signature).Params().Len() != 3 {
		return nil, false
	}
	made.managed = objectOf(compose.Type().(*types.Signature).Params().At(1).Type())
	if made.managed == nil {
		return nil, false
	}
	var ok bool
	made.kind, ok = d.kindOf(made.managed)
	for _, option := range c.Args[1:] {
		d.options(made, c.unit, option)
	}
	return made, ok
}

// options records the options of a call of Manage. If they come from elsewhere, it records all options that are created
// outside of calls of Manage.
func (d *deriving) options(of *composer, u *unit, from ast.Expr) {
	plain := false
	ast.Inspect(from, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			if f := calleeOf(u, n); isOperons(f) {
				of.options[f.Name()] = append(of.options[f.Name()], call{u, n, f})
				return false
			}
			plain = true
		case *ast.Ident:
			_, variable := u.info.Uses[n].(*types.Var)
			plain = plain || variable
		}
		return true
	})
	if !plain {
		return
	}
	for _, c := range d.calls {
		if isOperons(c.callee, manageOptions...) && !d.inManage(c) {
			of.options[c.callee.Name()] = append(of.options[c.callee.Name()], c)
		}
	}
}

// manageOptions lists the options of Manage that need permissions.
var manageOptions = []string{"MigrateStorage", "ApplySets", "RetireFinalizers", "Rules", "WithoutStatus"}

func (d *deriving) inManage(c call) bool {
	return slices.ContainsFunc(d.calls, func(other call) bool {
		return isOperons(other.callee, "Manage") && other.unit == c.unit && other.Pos() <= c.Pos() && c.End() <= other.End()
	})
}

// operator returns the name that is passed to operon.Main or operon.Run, if it is a constant.
func (d *deriving) operator() string {
	for _, c := range d.calls {
		at := 0
		if isOperons(c.callee, "Run") {
			at = 1
		} else if !isOperons(c.callee, "Main") {
			continue
		}
		if name := constantOf(c.unit, argument(c, at)); name != "" {
			return name
		}
	}
	return ""
}

func argument(c call, nth int) ast.Expr {
	if nth < len(c.Args) {
		return c.Args[nth]
	}
	return nil
}

// constantOf returns the constant text of an expression, or "" if it is not constant.
func constantOf(u *unit, of ast.Expr) string {
	if of == nil {
		return ""
	}
	if value := u.info.Types[of].Value; value != nil && value.Kind() == constant.String {
		return constant.StringVal(value)
	}
	return ""
}
