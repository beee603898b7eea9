package boxtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Watches are the open watches of an operator, by their selection.
type Watches struct {
	mu     sync.Mutex
	opened map[string]int
	open   map[*watchBody]string
}

// watchBody is the response body of a watch.
type watchBody struct {
	io.ReadCloser
	watches *Watches
}

func (b *watchBody) Close() error {
	b.watches.mu.Lock()
	defer b.watches.mu.Unlock()
	delete(b.watches.open, b)
	return b.ReadCloser.Close()
}

// Watched returns a connection, and the watches that are opened through it.
func Watched(config *rest.Config) (*rest.Config, *Watches) {
	w := &Watches{opened: map[string]int{}, open: map[*watchBody]string{}}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err != nil || answer.StatusCode != http.StatusOK || r.URL.Query().Get("watch") == "" {
				return answer, err
			}
			body := &watchBody{answer.Body, w}
			answer.Body = body
			w.mu.Lock()
			defer w.mu.Unlock()
			query := r.URL.Query()
			w.open[body] = fmt.Sprint(r.URL.Path, " ", query.Get("labelSelector"), query.Get("fieldSelector"))
			w.opened[w.open[body]]++
			return answer, nil
		})
	})
	return config, w
}

// of returns the number of open watches with a selection.
func (w *Watches) of(selected string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, name := range w.open {
		if name == selected {
			count++
		}
	}
	return count
}

// Are waits until there is the wanted number of watches with a selection.
func (w *Watches) Are(t testing.TB, eventually func(string, func(context.Context) error), selected string, want int) {
	t.Helper()
	eventually(fmt.Sprintf("%d watches of %q", want, selected), func(context.Context) error {
		if got := w.of(selected); got != want {
			w.mu.Lock()
			defer w.mu.Unlock()
			return fmt.Errorf("there are %d, and in all %v", got, maps.Clone(w.opened))
		}
		return nil
	})
}

// Cut breaks the watches with a selection, like a network failure.
func (w *Watches) Cut(selected string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for body, name := range w.open {
		if name == selected {
			_ = body.ReadCloser.Close() // the reader receives an error
		}
	}
}
