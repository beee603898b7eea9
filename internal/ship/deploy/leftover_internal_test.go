package deploy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// A namespace may hold objects of an aggregated API that does not answer.
func TestUnknownObjectsInTheNamespace(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := map[string]string{
			"/api":    `{"kind": "APIVersions", "versions": ["v1"]}`,
			"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": ["list", "delete"]}]}`,
			"/apis": `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "metrics.example.com", "versions": [{"groupVersion": "metrics.example.com/v1", "version": "v1"}],
				"preferredVersion": {"groupVersion": "metrics.example.com/v1", "version": "v1"}}]}`,
			"/api/v1/namespaces/web/configmaps": `{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": [
				{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "kube-root-ca.crt", "namespace": "web"}}]}`,
		}[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !known {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	client, err := kube.New(&rest.Config{Host: server.URL}, manager)
	if err != nil {
		t.Fatal(err)
	}
	found, err := (&cluster{Client: client}).inside(t.Context(), "web")
	if want := []string{"objects of metrics.example.com, which does not answer"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("the namespace holds %q, %v; want %q", found, err, want)
	}
}
