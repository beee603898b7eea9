package shard

import (
	"context"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Wrap returns a transport that sends no write of a pass that has lost its grant.
//
// The clock is last checked directly before each request; the API server is instructed to give up
// the request in time. Reads, and writes that belong to no object of a slot, are sent unchecked.
func (m *Member) Wrap(next http.RoundTripper) http.RoundTripper { return &fence{next, m} }

type fence struct {
	next   http.RoundTripper
	member *Member
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	p := passOf(r.Context())
	if p == nil || r.Method == http.MethodGet {
		return f.next.RoundTrip(r)
	}
	if !f.member.valid() || !p.send() {
		p.end(errLost)
		if r.Body != nil {
			_ = r.Body.Close() // RoundTrippers have to
		}
		return nil, &LostError{Method: r.Method, Path: r.URL.Path}
	}
	limit := f.member.timing.write
	sent := time.Now()
	answer, err := bounded(f.next, r, limit)
	doubtful := time.Time{}
	if err != nil {
		doubtful = sent.Add(limit)
	}
	p.answered(doubtful)
	return answer, err
}

// bounded sends a request that the API server gives up after a limit, and waits for the response no
// longer than that. Nothing else cancels the request: a client that does not wait for the response does not know whether
// the request took effect, and could not give the object away.
func bounded(next http.RoundTripper, r *http.Request, limit time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limit)
	r = r.Clone(ctx)
	query := r.URL.Query()
	query.Set("timeout", limit.String())
	r.URL.RawQuery = query.Encode()
	answer, err := next.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &ending{answer.Body, cancel}
	return answer, nil
}

// ending is a body whose request is over when it is closed.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (e *ending) Close() error {
	defer e.cancel()
	return e.ReadCloser.Close()
}

// Enter begins work on an object. Writes under the returned context are fenced.
// If ok is false, this member must not work on the object: then nothing is written under
// the context. Otherwise leave has to be called, and reports whether the grant was kept throughout.
//
// The context ends when the grant does, or when others may soon take the object over because they see no
// sign of life of this member.
func (m *Member) Enter(ctx context.Context, uid types.UID) (_ context.Context, leave func() (kept bool), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock() // so that an interrupt sees work that begins now
	g, slot := m.assignment.grantOf(uid)
	if g == nil || !m.heartbeat.isValid() {
		return m.Outside(ctx), nil, false
	}
	within, p := g.enter(ctx, slot)
	if p == nil {
		return m.Outside(ctx), nil, false
	}
	return within, func() bool {
		kept := within.Err() == nil || ctx.Err() != nil
		p.leave()
		return kept
	}, true
}

// has reports whether an object is in a slot that is worked on, even if no work may begin: the
// lease is late, or the slot is being given away.
func (m *Member) has(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, _ := m.assignment.grantOf(uid)
	return g != nil
}

// Outside returns a context under which nothing is written.
func (m *Member) Outside(ctx context.Context) context.Context {
	none := newGrant()
	none.revoked = true
	return context.WithValue(ctx, passKey{}, &pass{grant: none, slot: -1, end: func(error) {}})
}

// Covers reports whether work that began with Enter is on an object of the same slot.
func (m *Member) Covers(ctx context.Context, uid types.UID) bool {
	p := passOf(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	g, _ := m.assignment.grantOf(uid)
	return p != nil && g != nil && p.grant == g
}
