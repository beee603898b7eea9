//go:build !slow

package slow

import "net/http"

// Handler returns next: this binary is built without -tags slow.
func Handler(next http.Handler) http.Handler { return next }
