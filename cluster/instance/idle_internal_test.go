package instance

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A cluster is idle when for its time to live nobody has asked for anything, nor waits for an answer.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var use activity
		const ttl = time.Minute
		server := use.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(10 * ttl) })) // a watch
		start := time.Now()
		go func() {
			time.Sleep(ttl / 2)
			server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/pods", nil))
		}()
		use.awaitIdle(t.Context(), ttl)
		if got, want := time.Since(start), ttl/2+10*ttl+ttl; got < want || got > want+ttl {
			t.Errorf("idle after %s, want %s", got, want)
		}
	})
}
