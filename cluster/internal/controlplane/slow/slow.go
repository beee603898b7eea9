//go:build slow

package slow

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// So many lots of a hundred have a watch stand still, and so many requests of a hundred wait.
const watchStalls, requestStalls = 30, 10

// Handler goes before an API server. What starts a control plane is left alone.
func Handler(next http.Handler) http.Handler {
	began := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case time.Since(began) < timing.start || r.Header.Get("Upgrade") != "":
		case r.URL.Query().Has("watch"):
			w = responsewriter.WrapForHTTP1Or2(&stalling{ResponseWriter: w})
		case rand.IntN(100) < requestStalls:
			time.Sleep(rand.N(timing.requestStall)) // being slow is what it is for
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
		s.next = time.Now().Add(timing.lotPeriod)
		if rand.IntN(100) < watchStalls {
			time.Sleep(rand.N(timing.watchStall)) // being slow is what it is for
		}
	}
	return s.ResponseWriter.Write(data)
}
