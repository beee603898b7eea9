package instance

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A cluster is idle if, for its time to live, no client has sent a request and none waits for a response.
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

// A client that wants to use a cluster prevents it from being idle, or is rejected because it is too late.
func TestIdleAndAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var use activity
		const ttl = time.Minute
		start := time.Now()
		use.renew()
		time.AfterFunc(ttl/2, func() {
			if !use.renew() {
				t.Error("too late after half of the time to live")
			}
		})
		use.awaitIdle(t.Context(), ttl)
		if got := time.Since(start); got != ttl/2+ttl {
			t.Errorf("idle after %s, want %s", got, ttl/2+ttl)
		}
		if use.renew() {
			t.Error("one that ends lets itself be used")
		}
	})
}
