package patient

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// passes reports whether the next attempt may have another result. twice means that the request may be executed twice.
func (t *transport) passes(got result, twice bool) bool {
	if got.err != nil {
		return t.heals(got.err, twice)
	}
	switch got.response.StatusCode {
	case http.StatusTooManyRequests:
		return true // the API server rejects it before it executes it
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return twice
	case http.StatusInternalServerError:
		return twice && ofStorage(got.body)
	}
	return false
}

// heals reports whether the next attempt may succeed after a network error.
func (t *transport) heals(err error, twice bool) bool {
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &plain) {
		return false
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" { // the request was not sent
		return t.answered.Load()
	}
	return twice
}

// Parts of the messages of internal errors, which have no other distinction. Server-side apply reports a value of the wrong type as an internal
// error, too.
var (
	temporary = []string{"etcdserver:", "leader changed", "context deadline exceeded", "rpc error"}
	permanent = []string{"request is too large", "database space exceeded", "failed to create typed patch object"}
)

// ofStorage reports whether an internal error is a temporary failure of etcd.
func ofStorage(body []byte) bool {
	has := func(part string) bool { return bytes.Contains(body, []byte(part)) }
	return slices.ContainsFunc(temporary, has) && !slices.ContainsFunc(permanent, has)
}

// giveUp returns the result after the last attempt, in a form that client-go does not repeat: it would take up to ten times the budget.
// client-go repeats responses with the header Retry-After, and recognizes some network errors by their text.
func (t *transport) giveUp(r *http.Request, got result) (*http.Response, error) {
	if got.err == nil {
		got.response.Header.Del("Retry-After")
		return got.response, nil
	}
	status := apierrors.NewServiceUnavailable(fmt.Sprintf("the API server did not answer within %s: %v", t.budget, got.err)).Status()
	status.APIVersion, status.Kind = "v1", "Status"
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: int64(len(body)),
		Request: r,
	}, nil
}
