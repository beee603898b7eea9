package up_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/up"
)

// If a kubeconfig has contexts and no current context, an error is returned: no context is chosen automatically.
func TestNoCurrentContext(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	content := `{"apiVersion": "v1", "kind": "Config", "contexts": [{"name": "b", "context": {"cluster": "c"}}, {"name": "a", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := up.Find(t.Context(), up.Where{Kubeconfig: file})
	if want := "no current context: name one with --context, of a, b"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
