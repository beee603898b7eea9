package webhook

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits of the bodies that are read at a time. Any pod can reach the server.
// reviewsAtOnce limits the bytes of all reviews that are being answered.
const reviewsAtOnce = 32 << 20

var errBusy = errors.New("too many requests are being answered: try again later")

// load is the amount of request bodies that the server holds.
type load struct{ reviews, conversions bodies }

// bodies limits the bytes of all request bodies that are held at a time.
type bodies struct {
	limit int64
	held  atomic.Int64
}

// limited serves requests whose bodies have at most size bytes each. It counts the bytes that arrived, not those
// that a request announces, so that an announcement alone does not affect other clients.
func (b *bodies) limited(next http.Handler, size int64) http.Handler {
	return http.MaxBytesHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A connection may be unused for minutes before its first request, so that only a body has a deadline.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timing.bodyTimeout)) // not supported: a test's recorder
		body := &counted{ReadCloser: r.Body, of: b}
		defer body.release()
		r.Body = body
		next.ServeHTTP(w, r)
	}), size)
}

// counted counts the bytes that are read of a body.
type counted struct {
	io.ReadCloser
	of   *bodies
	held int64
}

// Read implements io.Reader. It fails if too many bytes are held.
func (c *counted) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	c.held += int64(n)
	if c.of.held.Add(int64(n)) > c.of.limit {
		return 0, errBusy
	}
	return n, err
}

func (c *counted) release() { c.of.held.Add(-c.held) }
