package fault

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Answer returns the response that the API server would send in the situation that the fault simulates: the
// HTTP status, the headers and the body, in protobuf if the client accepts only protobuf. It fails for faults that are not responses.
func (f Fault) Answer(r requestlog.Request, accept string) (int, http.Header, []byte, error) {
	failure := f.status(r)
	if failure == nil {
		return 0, nil, nil, errors.New(string(f.Kind) + " is no answer")
	}
	code, header, body, err := Encode(failure, accept)
	if f.Kind == Throttle && err == nil {
		header.Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	return code, header, body, err
}

// Encode returns an error of the API server in the encoding that a client accepts.
func Encode(failure apierrors.APIStatus, accept string) (int, http.Header, []byte, error) {
	status := failure.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	var encoder runtime.Encoder = json.NewSerializerWithOptions(json.DefaultMetaFactory, nil, nil, json.SerializerOptions{})
	contentType := runtime.ContentTypeJSON
	if strings.Contains(accept, runtime.ContentTypeProtobuf) && !strings.Contains(accept, "json") {
		encoder, contentType = protobuf.NewSerializer(nil, nil), runtime.ContentTypeProtobuf
	}
	var body bytes.Buffer
	if err := encoder.Encode(&status, &body); err != nil {
		return 0, nil, nil, err
	}
	header := http.Header{"Content-Type": {contentType}, "Content-Length": {strconv.Itoa(body.Len())}}
	return int(status.Code), header, body.Bytes(), nil
}

// status returns the API server's own error, or nil if the fault is not an error response.
func (f Fault) status(r requestlog.Request) apierrors.APIStatus {
	resource := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	switch f.Kind {
	case Conflict:
		return apierrors.NewConflict(resource, r.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	case AlreadyExists:
		return apierrors.NewAlreadyExists(resource, r.Name)
	case NotFound:
		return apierrors.NewNotFound(resource, r.Name)
	case Throttle:
		return apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", f.RetryAfter)
	case ServerError:
		return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	case Unavailable:
		return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	case Expire:
		return apierrors.NewUnauthorized("Unauthorized")
	case TimeOut:
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	return nil
}
