package fast

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
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
