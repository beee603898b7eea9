package ansible

import (
	"context"
	"errors"
	"time"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// finalizing is the composer of an entry with a finalizer.
type finalizing struct{ *composer }

// Finalize implements operon.Finalizer. It runs the role of the finalizer until it succeeds and does not ask to be
// repeated. A run that is in progress is ended first.
func (f *finalizing) Finalize(_ context.Context, object *engine.Object, out *operon.Finalization) error {
	in, err := f.input(object, true)
	if err != nil {
		return operon.TerminalError(ReasonInvalidSpec, err)
	}
	settings, _ := f.settingsOf(object) // a wrong annotation must not prevent the deletion
	j := f.job(object)
	switch {
	case j != nil && j.run == nil && !j.deleting:
		j.cancel(errors.New("the object is being deleted"))
		fallthrough
	case j != nil && j.run == nil:
		out.Wait(reasonRunning, messageRunning)
	case j == nil || !j.deleting || j.run.Failed != "" && time.Until(j.retry) <= 0:
		f.begin(object, in, "the object is being deleted", settings, true)
		out.Wait(reasonRunning, messageRunning)
	case j.run.Failed != "":
		out.Wait(reasonFailed, j.run.Failed)
		out.RequeueAfter(time.Until(j.retry))
	case j.run.RequeueAt != nil && time.Until(j.run.RequeueAt.Time) > 0:
		out.Wait(reasonRunning, "the last run asked to be repeated")
		out.RequeueAfter(time.Until(j.run.RequeueAt.Time))
	case j.run.RequeueAt != nil:
		f.begin(object, in, "the last run asked for it", settings, true)
		out.Wait(reasonRunning, messageRunning)
	default:
		f.mu.Lock()
		delete(f.jobs, object.UID)
		f.mu.Unlock()
	}
	return nil
}

var _ operon.Finalizer[*engine.Object] = (*finalizing)(nil)
