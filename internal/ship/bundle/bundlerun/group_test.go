package bundlerun

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// The install mode has to be one that the bundle supports, with the namespaces that it needs.
func TestTargets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ supports, mode, want string }{
		{"AllNamespaces OwnNamespace", "", "[]"},
		{"SingleNamespace OwnNamespace", "", "[here]"},
		{"SingleNamespace", "", "op.v1 supports SingleNamespace: choose with --install-mode"},
		{"SingleNamespace", "SingleNamespace=a", "[a]"},
		{"SingleNamespace", "SingleNamespace", "--install-mode SingleNamespace: want SingleNamespace=NAMESPACE"},
		{"SingleNamespace", "SingleNamespace=a,b", "--install-mode SingleNamespace=a,b: want SingleNamespace=NAMESPACE"},
		{"MultiNamespace", "MultiNamespace=a,b", "[a b]"},
		{"MultiNamespace", "MultiNamespace=", "--install-mode MultiNamespace=: want MultiNamespace=NAMESPACE"},
		{"OwnNamespace", "AllNamespaces", "op.v1 does not support the install mode AllNamespaces, but OwnNamespace"},
		{"OwnNamespace", "OwnNamespace=a", "--install-mode OwnNamespace=a: OwnNamespace has no namespaces"},
		{"OwnNamespace", "Own", "--install-mode Own: want AllNamespaces, OwnNamespace"},
	} {
		csv := &bundle.CSV{}
		modes := []string{}
		for mode := range strings.FieldsSeq(test.supports) {
			modes = append(modes, fmt.Sprintf(`{"type":%q,"supported":true}`, mode))
		}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"metadata":{"name":"op.v1"},"spec":{"installModes":[%s]}}`, strings.Join(modes, ",")), csv); err != nil {
			t.Fatal(err)
		}
		r := &run{Options: Options{Namespace: "here", Mode: test.mode, Bundle: &bundle.Bundle{CSV: csv}}, made: &Result{CSV: "op.v1"}}
		targets, err := r.targets()
		got := fmt.Sprint(targets)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q with %s: %s, want %s", test.mode, test.supports, got, test.want)
		}
	}
}
