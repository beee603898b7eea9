//go:build slow

package controlplane

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// How an API server of a busy machine behaves, built with -tags slow: watches stand still, each for itself, and some
// requests wait. What starts a control plane is left alone.
const (
	slowAfter = 3 * time.Second
	// One lot is drawn in this time by each watch; so many of a hundred stand still, so long at most.
	watchLots, watchStalls, watchStall = 700 * time.Millisecond, 30, 1500 * time.Millisecond
	// So many requests of a hundred wait, so long at most.
	requestStalls, requestStall = 10, 300 * time.Millisecond
)

// slow goes before an API server.
func slow(next http.Handler) http.Handler {
	began := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case time.Since(began) < slowAfter || r.Header.Get("Upgrade") != "":
		case r.URL.Query().Has("watch"):
			w = responsewriter.WrapForHTTP1Or2(&stalling{ResponseWriter: w})
		case rand.IntN(100) < requestStalls:
			time.Sleep(rand.N(requestStall)) // being slow is what it is for
		}
		next.ServeHTTP(w, r)
	})
}

// stalling is where a watch is written to. It implements responsewriter.UserProvidedDecorator.
type stalling struct {
	http.ResponseWriter
	mu   sync.Mutex
	next time.Time // when the next lot is drawn
}

func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements http.ResponseWriter.
func (s *stalling) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().After(s.next) {
		s.next = time.Now().Add(watchLots)
		if rand.IntN(100) < watchStalls {
			time.Sleep(rand.N(watchStall)) // being slow is what it is for
		}
	}
	return s.ResponseWriter.Write(data)
}
