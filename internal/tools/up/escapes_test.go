package up_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
)

// The version of a cluster is part of the progress, in which it cannot control the terminal. No more than that is needed of a cluster here: the lease
// of the project cannot be read.
func TestProgressHasNoEscapeSequencesFromTheCluster(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			http.Error(w, "closed", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"gitVersion": "v1\u001b[2J\u001b]0;title\u0007bad\rgood\u009b2J"}`)
	}))
	t.Cleanup(server.Close)
	dir, kubeconfig := t.TempDir(), filepath.Join(t.TempDir(), "kubeconfig")
	testaid.Copy(t, dir, filepath.Join("testdata", "gadget"), "GROUP", "gadget.example.com", "PROJECT", "gadget", "NAMESPACE", "default")
	testaid.Write(t, kubeconfig, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "it",
		"contexts": [{"name": "it", "context": {"cluster": "it"}}], "clusters": [{"name": "it", "cluster": {"server": %q}}]}`, server.URL))
	t.Cleanup(func() {
		if err := up.Forget(dir); err != nil {
			t.Errorf("forget the project: %v", err)
		}
	})
	stderr := tempFile(t)
	err := up.Run(t.Context(), up.Options{
		Dir: dir, Where: up.Where{Kubeconfig: kubeconfig}, Mode: up.Once, Stdout: tempFile(t), Stderr: stderr,
		Build: func(context.Context, string) error { return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "read the Lease") {
		t.Errorf("error %v, want one about the Lease", err)
	}
	if missing := lacks(contents(t, stderr), server.URL+" (v1�[2J�]0;title�bad�good�2J) is ready"); missing != nil {
		t.Error(missing)
	}
}
