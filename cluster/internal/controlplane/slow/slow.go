//go:build slow

package slow

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// watchStalls is the percentage of draws that stall a watch, and requestStalls is the percentage of requests that are delayed.
const watchStalls, requestStalls = 30, 10

// Handler wraps the handler of an API server. Requests during the start of a control plane are not delayed.
func Handler(next http.Handler) http.Handler {
	began := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case time.Since(began) < timing.start || r.Header.Get("Upgrade") != "":
		case r.URL.Query().Has("watch"):
			w = responsewriter.WrapForHTTP1Or2(&stalling{ResponseWriter: w})
		case rand.IntN(100) < requestStalls:
			time.Sleep(rand.N(timing.requestStall)) // the purpose is to be slow
		}
		next.ServeHTTP(w, r)
	})
}

// stalling writes the response of a watch. It implements responsewriter.UserProvidedDecorator.
type stalling struct {
	http.ResponseWriter
	mu   sync.Mutex
	next time.Time // time of the next draw
}

func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements http.ResponseWriter.
func (s *stalling) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().After(s.next) {
		s.next = time.Now().Add(timing.lotPeriod)
		if rand.IntN(100) < watchStalls {
			time.Sleep(rand.N(timing.watchStall)) // the purpose is to be slow
		}
	}
	return s.ResponseWriter.Write(data)
}
