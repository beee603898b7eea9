package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Managers whose watches are late, as on a busy API server, end with the same objects: what one version hands over to the next is never
// decided on what was. The watches of one kind are late by the same time, and the watches of all kinds by times that are drawn for each event.
func TestStaleCaches(t *testing.T) {
	t.Parallel()
	whole := wholeLife(t)
	for name, stale := range map[string]lateness{
		"ClusterRoles":           fixed("clusterroles", ""),
		"ClusterRoles of others": fixed("clusterroles", "olm"),
		"all of them":            func(*http.Request) time.Duration { return rand.N(2 * time.Second) },
		"all of them again":      func(*http.Request) time.Duration { return rand.N(2 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live(t, 0, stale, whole)
		})
	}
}

// lateness returns how much later an event of a watch is delivered. It is asked for each event.
type lateness func(watch *http.Request) time.Duration

// fixed is the lateness of the watches of a resource whose selector contains a text.
func fixed(resource, selector string) lateness {
	return func(watch *http.Request) time.Duration {
		if !strings.HasSuffix(watch.URL.Path, "/"+resource) || !strings.Contains(watch.URL.Query().Get("labelSelector"), selector) {
			return 0
		}
		return 1500 * time.Millisecond
	}
}

// wrap delays what watches deliver.
func (l lateness) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || l == nil || request.URL.Query().Get("watch") == "" {
			return response, err
		}
		d := &delayedBody{Closer: response.Body, late: func() time.Duration { return l(request) }, chunks: make(chan chunk, 10_000)}
		go d.read(response.Body)
		response.Body = d
		return response, nil
	})
}

// delayedBody is a body whose content can be read some time after it has arrived.
type delayedBody struct {
	io.Closer
	late   func() time.Duration
	chunks chan chunk
	left   chunk
}

// chunk is what was read at a time.
type chunk struct {
	content []byte
	at      time.Time
	err     error
}

func (d *delayedBody) read(body io.Reader) {
	defer close(d.chunks)
	for {
		content := make([]byte, 64<<10)
		n, err := body.Read(content)
		d.chunks <- chunk{content[:n], time.Now(), err}
		if err != nil {
			return
		}
	}
}

func (d *delayedBody) Read(into []byte) (int, error) {
	for len(d.left.content) == 0 {
		if d.left.err != nil {
			return 0, d.left.err
		}
		next, ok := <-d.chunks
		if !ok {
			return 0, io.ErrUnexpectedEOF
		}
		time.Sleep(time.Until(next.at.Add(d.late())))
		d.left = next
	}
	n := copy(into, d.left.content)
	d.left.content = d.left.content[n:]
	return n, nil
}
