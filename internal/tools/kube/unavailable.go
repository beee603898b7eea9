package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Unavailable reports whether an error means that the API server may answer the same request later: it is restarted, has no leader of etcd, or
// is busy.
func Unavailable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		var network net.Error
		var certificate *tls.CertificateVerificationError
		if errors.Is(err, context.Canceled) || errors.As(err, &certificate) {
			return false
		}
		return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	}
	return status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
}
