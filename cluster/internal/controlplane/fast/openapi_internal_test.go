package fast

import (
	"context"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// After an aggregator took too long once, later requests still receive the documents.
func TestDocumentsAreAwaitedAnew(t *testing.T) {
	t.Parallel()
	var serves atomic.Bool
	o := &openAPI{
		documents: func() http.Handler { return nil },
		merged: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if serves.Load() {
				_, _ = w.Write([]byte(`{"paths":{"api/v1":{}}}`)) // into memory
			}
		}),
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.published(over); err == nil {
		t.Fatal("nothing is served, and no error")
	}
	serves.Store(true)
	if err := o.published(t.Context()); err != nil {
		t.Error(err)
	}
}

// Each definition is named once, and every caller gets the same list of its kinds.
func TestCalledOnce(t *testing.T) {
	t.Parallel()
	calls := map[string]int{}
	name := calledOnce(func(definition string) (string, spec.Extensions) {
		calls[definition]++
		return "short." + definition, spec.Extensions{"kinds": []any{definition}}
	})
	for range 2 {
		for _, definition := range []string{"a", "b"} {
			got, extensions := name(definition)
			if got != "short."+definition || !reflect.DeepEqual(extensions["kinds"], []any{definition}) {
				t.Errorf("%s: %s, %v", definition, got, extensions)
			}
		}
	}
	if calls["a"] != 1 || calls["b"] != 1 {
		t.Errorf("calls: %v", calls)
	}
}
