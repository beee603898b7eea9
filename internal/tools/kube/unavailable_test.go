package kube_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// An API server that is restarted or busy answers the same request later. A request that it rejects stays rejected.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for err, want := range map[error]bool{
		nil:                                     false,
		apierrors.NewTimeoutError("no time", 0): true,
		apierrors.NewTooManyRequests("busy", 1): true,
		apierrors.NewInternalError(errors.New("etcd has no leader")):                                      true,
		apierrors.NewServerTimeout(pods, "list", 1):                                                       true,
		apierrors.NewServiceUnavailable("it starts"):                                                      true,
		apierrors.NewGenericServerResponse(http.StatusBadGateway, "list", pods, "", "no server", 0, true): true,
		fmt.Errorf("list pods: %w", apierrors.NewServiceUnavailable("it starts")):                         true,

		&url.Error{Op: "Get", URL: "https://localhost", Err: io.EOF}:                true,
		fmt.Errorf("dial: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}): true,
		io.EOF: true,
		fmt.Errorf("read: %w", io.ErrUnexpectedEOF): true,

		apierrors.NewUnauthorized("no token"):                            false,
		apierrors.NewForbidden(pods, "one", errors.New("no permission")): false,
		apierrors.NewNotFound(pods, "one"):                               false,
		apierrors.NewConflict(pods, "one", errors.New("it has changed")): false,
		fmt.Errorf("read: %w", apierrors.NewNotFound(pods, "one")):       false,
		context.Canceled: false,
		&url.Error{Op: "Get", URL: "https://localhost", Err: context.Canceled}:                                                                     false,
		&url.Error{Op: "Get", URL: "https://localhost", Err: &tls.CertificateVerificationError{Err: errors.New("signed by an unknown authority")}}: false,
		errors.New("another error"): false,
	} {
		if got := kube.Unavailable(err); got != want {
			t.Errorf("Unavailable(%v) = %v, want %v", err, got, want)
		}
	}
}
