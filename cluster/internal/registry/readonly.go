package registry

import "net/http"

// ReadOnly restricts a handler to read requests.
func ReadOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			answer(w, &Failure{http.StatusMethodNotAllowed, "UNSUPPORTED", "nothing is pushed from within the cluster"})
			return
		}
		next.ServeHTTP(w, request)
	})
}
