package explain

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
)

// Of the operators that `operon up` runs, the one that manages the kind in the namespace on the cluster is queried.
func TestTheOperatorIsFound(t *testing.T) {
	const server = "https://127.0.0.1:6443"
	box := schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Box"}
	crate := schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Crate"}
	home := t.TempDir()
	t.Setenv("OPERON_HOME", home)
	serve := func(name string, operator reconcilelog.Operator, kind schema.GroupVersionKind) {
		t.Helper()
		operator.Name = name
		store := reconcilelog.NewStore(operator)
		store.Manages(kind)
		store.Add(kind.GroupKind(), "default", "one", reconcilelog.Pass{Outcome: "done"})
		mux := http.NewServeMux()
		store.Serve(mux)
		listening := httptest.NewServer(mux)
		t.Cleanup(listening.Close)
		folder := filepath.Join(home, "up", name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "endpoint"), []byte(listening.Listener.Addr().String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serve("crates", reconcilelog.Operator{Server: server}, crate)
	serve("elsewhere", reconcilelog.Operator{Server: "https://192.0.2.1"}, box)
	serve("namespaced", reconcilelog.Operator{Server: server, Namespaces: []string{"other"}}, box)
	if err := os.WriteFile(filepath.Join(home, "up", "crates", "endpoint"), nil, 0o600); err != nil { // it was killed
		t.Fatal(err)
	}
	a := &Answer{Group: box.Group, Kind: box.Kind, Namespace: "default", Name: "one"}
	a.ask(t.Context(), server, "")
	if a.Operator != "" || len(a.Lacks) != 1 || !strings.Contains(a.Lacks[0], "no operator for Box runs") {
		t.Errorf("answered %q, lacks %q", a.Operator, a.Lacks)
	}
	serve("right", reconcilelog.Operator{Server: server, Namespaces: []string{"default"}}, box)
	a.Lacks = nil
	a.ask(t.Context(), server, "")
	if a.Operator != "right" || len(a.Passes) != 1 || len(a.Lacks) > 0 {
		t.Errorf("answered %q with %v, lacks %q", a.Operator, a.Passes, a.Lacks)
	}
	a.Name, a.Lacks = "two", nil
	a.ask(t.Context(), server, "")
	if len(a.Lacks) != 1 || !strings.Contains(a.Lacks[0], "no reconcile of Box two is known") {
		t.Errorf("lacks %q", a.Lacks)
	}
}
