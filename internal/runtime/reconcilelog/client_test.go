package reconcilelog

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Any process on the machine may listen where an operator is expected: the size of its response is limited.
func TestAnAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	part, written := bytes.Repeat([]byte("x"), 1<<20), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 1024 {
			if _, err := w.Write(part); err != nil {
				return
			}
			written++
		}
	}))
	if _, err := AskOperator(t.Context(), strings.TrimPrefix(server.URL, "http://")); err == nil {
		t.Error("nonsense is an operator")
	}
	server.Close()
	if written > 128 {
		t.Errorf("%d MiB were read", written)
	}
}
