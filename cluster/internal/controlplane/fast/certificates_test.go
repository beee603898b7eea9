package fast

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"
)

// A certificate is verified once a minute, and again after it has expired. Requests that are not authenticated by a certificate
// alone are authenticated each time.
func TestCertificatesAreRemembered(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(now)
	asked, name, fails := 0, "", error(nil)
	c := newCertificates(authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		asked++
		return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, fails == nil, fails
	}), []string{"X-Remote-User", "x-my-user"}, clock)
	request := func(raw string, header ...string) *http.Request {
		req := &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{
			{Raw: []byte(raw), NotAfter: now.Add(90 * time.Second)},
		}}}
		for _, key := range header {
			req.Header.Set(key, "x")
		}
		return req
	}
	for i, step := range []struct {
		after     time.Duration
		req       *http.Request
		name      string
		fails     error
		want      string
		wantAsked int
	}{
		{req: request("a"), name: "alice", want: "alice", wantAsked: 1},
		{req: request("a"), name: "other", want: "alice", wantAsked: 1},
		{req: request("b"), name: "bob", want: "bob", wantAsked: 2},
		{req: request("a", "Authorization"), name: "token", want: "token", wantAsked: 3},
		{req: request("a", "X-Remote-User"), name: "front", want: "front", wantAsked: 4},
		{req: request("a", "Sec-Websocket-Protocol"), name: "socket", want: "socket", wantAsked: 5},
		{req: &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{}}, name: "nobody", want: "nobody", wantAsked: 6},
		{req: request("a", "X-My-User"), name: "renamed", want: "renamed", wantAsked: 7},
		{req: request("a"), name: "other", want: "alice", wantAsked: 7},
		{after: 61 * time.Second, req: request("a"), name: "alice", want: "alice", wantAsked: 8},
		{after: 91 * time.Second, req: request("a"), fails: errors.New("expired"), wantAsked: 9},
		{after: 91 * time.Second, req: request("c"), name: user.Anonymous, want: user.Anonymous, wantAsked: 10},
		{after: 91 * time.Second, req: request("c"), name: user.Anonymous, want: user.Anonymous, wantAsked: 11},
	} {
		clock.SetTime(now.Add(step.after))
		name, fails = step.name, step.fails
		response, ok, err := c.AuthenticateRequest(step.req)
		if !errors.Is(err, step.fails) || ok != (step.fails == nil) {
			t.Errorf("step %d: %v, %v", i, ok, err)
		}
		if ok && response.User.GetName() != step.want || asked != step.wantAsked {
			t.Errorf("step %d: %q after %d questions, want %q after %d", i, response.User.GetName(), asked, step.want, step.wantAsked)
		}
	}
}
