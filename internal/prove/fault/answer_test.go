package fault_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/prove/fault"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Kind]metav1.Status{
		fault.Conflict:      {Code: 409, Reason: metav1.StatusReasonConflict},
		fault.AlreadyExists: {Code: 409, Reason: metav1.StatusReasonAlreadyExists},
		fault.NotFound:      {Code: 404, Reason: metav1.StatusReasonNotFound},
		fault.Throttle:      {Code: 429, Reason: metav1.StatusReasonTooManyRequests},
		fault.ServerError:   {Code: 500, Reason: metav1.StatusReasonInternalError},
		fault.Unavailable:   {Code: 503, Reason: metav1.StatusReasonServiceUnavailable},
		fault.Expire:        {Code: 401, Reason: metav1.StatusReasonUnauthorized},
		fault.TimeOut:       {Code: 504, Reason: metav1.StatusReasonTimeout},
	} {
		for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"} {
			code, header, body, err := fault.Fault{Kind: kind, RetryAfter: 3}.Answer(patch, accept)
			if err != nil {
				t.Fatal(err)
			}
			status := decoded(t, header.Get("Content-Type"), body)
			if code != int(want.Code) || status.Code != want.Code || status.Reason != want.Reason || status.Status != metav1.StatusFailure {
				t.Errorf("%s for %q: %d %+v", kind, accept, code, status)
			}
			if isProtobuf := header.Get("Content-Type") == runtime.ContentTypeProtobuf; isProtobuf != (accept == runtime.ContentTypeProtobuf) {
				t.Errorf("%s for %q is %s", kind, accept, header.Get("Content-Type"))
			}
			if wait := header.Get("Retry-After"); (wait == "3") != (kind == fault.Throttle) {
				t.Errorf("%s: Retry-After %q", kind, wait)
			}
		}
	}
	if _, _, _, err := (fault.Fault{Kind: fault.Cut}).Answer(patch, ""); err == nil {
		t.Error("a cut is an answer")
	}
}

func decoded(t *testing.T, contentType string, body []byte) (status metav1.Status) {
	t.Helper()
	err := json.Unmarshal(body, &status)
	if contentType == runtime.ContentTypeProtobuf {
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(body[4:]); err != nil || envelope.Kind != "Status" {
			t.Fatal(envelope.Kind, err)
		}
		err = status.Unmarshal(envelope.Raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return status
}
