package localtest

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Gate delays the events of watches, so that a test can check what its code does with a stale cache. It is initially
// open. It is safe for concurrent use.
type Gate struct {
	// Of reports whether a watch goes through the gate. If nil, all watches do. It is called for each request.
	Of func(*http.Request) bool

	mu      sync.Mutex
	shut    chan struct{} // closed when the gate opens; nil while it is open
	answers map[*answer]bool
	cuts    int
	expired bool
}

// Config returns a connection whose watches go through the gate.
func (g *Gate) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(g.wrap)
	return config
}

// Shut delays the events of watches from now on.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

// Open passes on the delayed events, in order, and all that follow.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// Cut ends all watches and drops their delayed events, as a network failure does. Clients resume the watches at the
// last position. If expired is set, they can no longer do so: the API server responds that the resource version is too
// old, and clients have to list everything again.
func (g *Gate) Cut(expired bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expired = expired
	g.cuts++
	for a := range g.answers {
		a.cut()
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (g *Gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.Query()
		if query.Get("watch") == "" || g.Of != nil && !g.Of(r) {
			return next.RoundTrip(r)
		}
		refuses, cuts := g.state()
		if query.Get("sendInitialEvents") == "" && refuses {
			return gone(r), nil
		}
		response, err := next.RoundTrip(r)
		if err == nil {
			response.Body = g.keep(response.Body, cuts)
		}
		return response, err
	})
}

func (g *Gate) state() (refuses bool, cuts int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.expired, g.cuts
}

// keep registers a response to a watch that was requested after this number of cuts.
func (g *Gate) keep(body io.ReadCloser, cuts int) io.ReadCloser {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := &answer{ReadCloser: body, gate: g, ended: make(chan struct{})}
	if g.answers == nil {
		g.answers = map[*answer]bool{}
	}
	g.answers[a] = true
	if cuts < g.cuts {
		a.cut() // the response was already on its way
	}
	return a
}

// pass waits until the gate is open. It returns false if the response ended first.
func (g *Gate) pass(ended <-chan struct{}) bool {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	select {
	case <-ended:
		return false
	default:
	}
	if shut == nil {
		return true
	}
	select {
	case <-shut:
		return true
	case <-ended:
		return false
	}
}

// gone returns the API server's response to a watch from a compacted resource version.
func gone(r *http.Request) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Status: "410 Gone", Proto: r.Proto, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// answer is the response to a watch.
type answer struct {
	io.ReadCloser
	gate  *Gate
	once  sync.Once
	ended chan struct{}
}

func (a *answer) cut() { a.once.Do(func() { close(a.ended) }) }

// Read reads data, and returns it when the gate is open.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if !a.gate.pass(a.ended) {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close ends the watch.
func (a *answer) Close() error {
	a.cut()
	a.gate.mu.Lock()
	delete(a.gate.answers, a)
	a.gate.mu.Unlock()
	return a.ReadCloser.Close()
}
