package patient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Config returns a copy of a connection whose requests are repeated after temporary failures until the budget is over: see [Session] and
// [Inside]. It also limits how long the API server may take to respond.
//
// Guarantees: a POST is repeated only if the API server has rejected it before it had an effect, except for reviews of one's own permissions
// and for tokens. Watches, logs and upgraded connections pass unchanged. Until the API server has responded once, an attempt to connect is not
// repeated, so that a wrong address fails at once. The first attempt may take half of the budget, and each later one three times as long as the
// one before, at most 30 s, because webhooks of the cluster may take that long. Only after that, an attempt that exceeds the budget ends.
// Caveats: if the response to a request is lost, the repeated DELETE results in "not found", and a repeated write with a resource
// version or a UID in a conflict.
func Config(config *rest.Config, budget time.Duration) *rest.Config {
	config = rest.CopyConfig(config)
	s := &server{budget: budget}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{s, next} })
	return config
}

// server is the state that all clients of a connection share.
type server struct {
	budget   time.Duration
	answered atomic.Bool // at least once
}

// transport repeats requests.
type transport struct {
	*server
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	of := requestlog.Of(r)
	if of.Verb == "watch" || of.Streams() || httpstream.IsUpgradeRequest(r) {
		return t.next.RoundTrip(r)
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	twice, limit := mayRunTwice(r, &of), timing.longestAttempt
	if twice {
		limit = min(limit, t.budget/2)
	}
	over := time.Now().Add(t.budget)
	for delay := timing.firstDelay; ; delay = min(2*delay, timing.lastDelay) {
		got := t.attempt(r, body, limit)
		if r.Context().Err() != nil || !t.passes(got, twice) {
			return got.response, got.err
		}
		left := time.Until(over)
		if left <= 0 {
			return t.giveUp(r, got)
		}
		if err := pause(r.Context(), min(max(delay, got.retryAfter()), left)); err != nil {
			return nil, err
		}
		limit = min(3*limit, timing.longestAttempt)
	}
}

// mayRunTwice reports whether a request has the same effect if the API server executes it twice.
func mayRunTwice(r *http.Request, of *requestlog.Request) bool {
	return r.Method != http.MethodPost || of.Subresource == "token" ||
		of.Resource == "selfsubjectrulesreviews" || of.Resource == "selfsubjectaccessreviews"
}

// bodyOf reads the body of a request, which can be read only once.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// result is the result of an attempt: a response with its body, or an error.
type result struct {
	response *http.Response
	body     []byte
	err      error
}

// attempt sends a request and reads the whole response.
func (t *transport) attempt(r *http.Request, body []byte, limit time.Duration) result {
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	one := r.Clone(ctx)
	one.Body, one.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		one.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := t.next.RoundTrip(one)
	if err != nil {
		return result{err: err}
	}
	t.answered.Store(true)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return result{err: fmt.Errorf("read the response: %w", err)}
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	return result{response: response, body: content}
}

// retryAfter returns how long the API server requests to wait before the next attempt.
func (got result) retryAfter() time.Duration {
	if got.err != nil {
		return 0
	}
	seconds, err := strconv.Atoi(got.response.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// pause waits. It returns an error if ctx ends first.
func pause(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
