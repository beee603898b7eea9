package bundlerun

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
)

// A CatalogSource or ConfigMap of another client is not replaced.
func TestObjectsOfOthers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/namespaces/here" {
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "here"}}`)
			return
		}
		fmt.Fprint(w, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bundle-web", "namespace": "here", "labels": {"operon.dev/bundle-run": "other"}}}`)
	}))
	defer server.Close()
	client, err := kube.New(&rest.Config{Host: server.URL}, Manager)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{
		Options: Options{Namespace: "here", Client: client, Bundle: &bundle.Bundle{Channels: []string{"stable"}}},
		state:   &olm.State{}, made: &Result{Package: "web", Subscription: "web", Catalog: "bundle-web"},
	}
	r.state.Catalogs = []olm.Catalog{{ObjectMeta: metav1.ObjectMeta{Name: "bundle-web", Namespace: "elsewhere"}}}
	if err := r.check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.current(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "the ConfigMap here/bundle-web exists, and `operon bundle run` did not create it for the package web") {
		t.Errorf("the error is %v", err)
	}
	r.state.Catalogs[0].Namespace = "here"
	if err := r.check(t.Context()); err == nil || !strings.Contains(err.Error(), "the CatalogSource here/bundle-web exists") {
		t.Errorf("the error is %v", err)
	}
}
