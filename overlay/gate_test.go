package overlay_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// gate holds back what watches show while it is shut, and can cut them.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // closed while the gate is open
	bodies  map[*gated]bool
	expired bool // watches that want to go on where they were are told to read all anew
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newGate() *gate {
	open := make(chan struct{})
	close(open)
	return &gate{open: open, bodies: map[*gated]bool{}}
}

// shut holds back what comes from now on.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// lift lets everything through again.
func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// cut ends all watches, as a network does. With expired, they cannot go on where they were.
func (g *gate) cut(expired bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expired = expired
	for body := range g.bodies {
		body.cut()
	}
}

// wrap puts the gate before the answers to watches.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.Query()
		if query.Get("watch") != "" && query.Get("sendInitialEvents") == "" && g.refuses() {
			return gone(r), nil
		}
		answer, err := next.RoundTrip(r)
		if err != nil || query.Get("watch") == "" {
			return answer, err
		}
		body := &gated{ReadCloser: answer.Body, gate: g, ended: make(chan struct{})}
		answer.Body = body
		g.mu.Lock()
		defer g.mu.Unlock()
		g.bodies[body] = true
		return answer, nil
	})
}

func (g *gate) refuses() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.expired
}

// gone is the API server's answer to a watch from a revision that it has forgotten.
func gone(r *http.Request) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Status: "410 Gone", Proto: r.Proto, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func (g *gate) waits() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// gated is the answer to a watch.
type gated struct {
	io.ReadCloser
	gate  *gate
	once  sync.Once
	ended chan struct{}
}

func (b *gated) cut() { b.once.Do(func() { close(b.ended) }) }

// Read reads what comes, and gives it once the gate is open.
func (b *gated) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	select {
	case <-b.gate.waits():
		return n, err
	case <-b.ended:
		return 0, io.ErrUnexpectedEOF
	}
}

func (b *gated) Close() error {
	b.cut()
	b.gate.mu.Lock()
	defer b.gate.mu.Unlock()
	delete(b.gate.bodies, b)
	return b.ReadCloser.Close()
}
