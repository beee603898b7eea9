package clusterwatch

import (
	"errors"
	"io"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A beat that has not ended shows that the cluster is slow, before it ends.
func TestPulseOfAHangingCluster(t *testing.T) {
	t.Parallel()
	w := &Witness{}
	if got := w.Slowness(); got != 1 {
		t.Errorf("without a beat, the slowness is %.1f", got)
	}
	w.pulse.began = time.Now().Add(-10 * time.Second)
	if got := w.Slowness(); got != slowest {
		t.Errorf("10 s after the beginning of a beat, the slowness is %.1f", got)
	}
	w.pulse.end(3 * timing.usual)
	for range beats - 1 {
		w.pulse.end(timing.usual)
	}
	if got := w.Slowness(); got != 3 {
		t.Errorf("the slowness is %.1f, want that of the slowest beat", got)
	}
	w.pulse.end(timing.usual)
	if got := w.Slowness(); got != 1 {
		t.Errorf("later, the slowness is %.1f", got)
	}
}

// A cluster that does not respond is slow. One that rejects the pulse at once is not.
func TestPulseWithoutResponse(t *testing.T) {
	t.Parallel()
	w := &Witness{}
	start := time.Now()
	for range 3 {
		w.pulse.begin(start.Add(-time.Minute))
	}
	if began := w.pulse.begin(start); time.Since(began) < time.Minute {
		t.Errorf("a beat that has not ended begins anew")
	}
	configMap := schema.GroupResource{Resource: "configmaps"}
	for err, want := range map[error]bool{
		io.ErrUnexpectedEOF: true,
		apierrors.NewServerTimeout(configMap, "patch", 1):                           true,
		apierrors.NewTooManyRequests("too many", 1):                                 true,
		apierrors.NewServiceUnavailable("it starts"):                                true,
		apierrors.NewForbidden(configMap, "pulse", nil):                             false,
		apierrors.NewInternalError(errors.New("the webhook of another API failed")): false,
	} {
		if got := passing(err); got != want {
			t.Errorf("passing(%v) = %v", err, got)
		}
	}
}
