package controlplane

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// The end of a watch, which an API server may cause at any time, does not prove that an object exists.
func TestAWatchThatEndsIsNoServiceAccount(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch asked.Add(1) {
		case 1: // the watch ends at once
		case 2:
			fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}`)
		default:
			fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"default"}}}`)
		}
	}))
	defer server.Close()
	cp := &ControlPlane{admin: &rest.Config{Host: server.URL}}
	if err := cp.awaitServiceAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 3 {
		t.Errorf("it was believed after %d watches, want 3", asked.Load())
	}
}
