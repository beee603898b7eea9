package webhook

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestBodiesAreLimitedTogether(t *testing.T) {
	t.Parallel()
	b := &bodies{limit: 100}
	serve := func(size int, inside func()) (err error) {
		handler := b.limited(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err = io.Copy(io.Discard, r.Body); err == nil && inside != nil {
				inside()
			}
		}), 80)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		handler.ServeHTTP(httptest.NewRecorder(), request)
		return err
	}
	var second, third error
	if err := serve(60, func() { second, third = serve(60, nil), serve(30, nil) }); err != nil {
		t.Errorf("the first body: %v", err)
	}
	if !errors.Is(second, errBusy) {
		t.Errorf("a body that does not fit beside another: %v, want %v", second, errBusy)
	}
	if third != nil {
		t.Errorf("a body that fits: %v", third)
	}
	if held := b.held.Load(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
	var tooLarge *http.MaxBytesError
	if err := serve(81, nil); !errors.As(err, &tooLarge) {
		t.Errorf("a body that is too large: %v", err)
	}
}
