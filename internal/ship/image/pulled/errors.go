package pulled

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// response returns an error of the registry library without the content of responses, which can be anything if an address is not that of a registry.
// An error of a type whose text could have some is replaced.
func response(err error, replacement string) error {
	var (
		ours        own
		answer      *registry.Error
		network     *net.OpError
		certificate *tls.CertificateVerificationError
		handshake   tls.RecordHeaderError
		large       *http.MaxBytesError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours.error
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &answer):
		return status(answer)
	case errors.As(err, &network):
		return network
	case errors.As(err, &certificate):
		return certificate
	case errors.As(err, &handshake):
		return handshake
	case errors.As(err, &large):
		return fmt.Errorf("a manifest has more than %d bytes", large.Limit)
	case errors.Is(err, http.ErrSchemeMismatch):
		return http.ErrSchemeMismatch
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the registry does not answer in time: %w", context.DeadlineExceeded)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection ended before the response was complete")
	}
	return errors.New(replacement)
}

// own is an error of this package, or of the caller's credentials, that passes through the registry library.
type own struct{ error }

func (o own) Unwrap() error { return o.error }

func status(answer *registry.Error) error {
	if len(answer.Errors) == 0 {
		return fmt.Errorf("the registry answers with status %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return fmt.Errorf("the registry answers with status %d: %.100q", answer.StatusCode, answer.Errors[0].Code)
}

// reader reads the content of a response. Its errors have nothing of it.
type reader struct {
	io.Reader
	replacement string
}

func (r reader) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	if err == io.EOF { //nolint:errorlint // the end, which is never wrapped
		return n, err
	}
	return n, response(err, r.replacement)
}
