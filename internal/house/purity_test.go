package house

import (
	"go/ast"
	"testing"
)

// checkPurity rejects goroutines, channels and uses of the clock.
func checkPurity(t *testing.T, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s: the core is pure and starts no goroutine", place(n.Pos()))
		case *ast.ChanType:
			t.Errorf("%s: the core is pure and has no channel", place(n.Pos()))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && x.Obj == nil && readsClock[n.Sel.Name] {
				t.Errorf("%s: the core is pure and must be told the time: time.%s", place(n.Pos()), n.Sel.Name)
			}
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "client" && x.Obj == nil && sendsRequests[n.Sel.Name] {
				t.Errorf("%s: the core is pure and has no client: client.%s", place(n.Pos()), n.Sel.Name)
			}
		}
		return true
	})
}

// sendsRequests are the types of package client of controller-runtime that can send requests.
var sendsRequests = map[string]bool{"Client": true, "Reader": true, "Writer": true, "WithWatch": true, "New": true}

var readsClock = map[string]bool{"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true, "NewTimer": true, "NewTicker": true, "Tick": true, "Sleep": true}
