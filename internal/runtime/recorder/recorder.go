package recorder

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

// Recorder records the events of an operator. Events that are recorded before Start are lost.
type Recorder struct {
	events.EventRecorder

	broadcaster events.EventBroadcaster
	log         logr.Logger
}

// New creates the recorder of an operator, by the operator's name.
func New(name string, cluster *rest.Config, with *http.Client, scheme *runtime.Scheme, log logr.Logger) (*Recorder, error) {
	s, err := newSink(cluster, with, log)
	if err != nil {
		return nil, err
	}
	broadcaster := events.NewBroadcaster(s)
	return &Recorder{broadcaster.NewRecorder(scheme, name), broadcaster, log}, nil
}

// Start sends events in the background until stop is called, which also sends the events that wait for it.
func (r *Recorder) Start(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), r.log))
	if err := r.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return nil, err
	}
	if _, err := r.broadcaster.StartLogging(r.log.V(1)); err != nil {
		cancel()
		return nil, err
	}
	return func() {
		r.broadcaster.Shutdown()
		cancel()
	}, nil
}
