package ansible

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// Annotations of objects that change their runs.
const (
	annotationPrefix    = "ansible.sdk.operatorframework.io/"
	periodAnnotation    = annotationPrefix + "reconcile-period"
	verbosityAnnotation = annotationPrefix + "verbosity"
)

// Reasons of conditions and events.
const (
	reasonRunning    = "Running"
	reasonFailed     = "Failed"
	reasonSuccessful = "Successful"
	// ReasonInvalidSpec is the reason for a spec or an annotation that cannot be used.
	ReasonInvalidSpec = "InvalidSpec"
	reasonBeyond      = "NotGarbageCollected"
)

const messageRunning = "Running reconciliation"

// composer runs a role or playbook for objects. It declares no children: the runs change the cluster.
type composer struct {
	*entry
	engine *Engine
	shared *shared
	// triggers receives the objects whose run has ended.
	triggers chan types.NamespacedName
	// slots limits the number of runs at the same time.
	slots chan struct{}
	// drained is the number of slots that are taken because the operator stops.
	drained int

	mu   sync.Mutex
	jobs map[types.UID]*job
	// limits limits the runs of each object that changes of other objects cause.
	limits map[types.UID]*rate.Limiter
	swept  time.Time

	// states remembers the readiness of objects that runs have created, by UID.
	states *lru.Cache
}

// job is the current or the last run for an object.
type job struct {
	object   types.NamespacedName
	input    string
	deleting bool
	cancel   context.CancelCauseFunc
	// run is nil until the run has ended.
	run    *engine.Run
	result *engine.RunResult
	// before is the run before this one, if its status was not written before this one began, and its result.
	before       *engine.Run
	beforeResult *engine.RunResult
	// failures counts the runs that failed in a row, without getting further than the ones before: furthest is the number of tasks
	// that succeeded. retry is the time of the next run.
	failures int
	furthest int64
	retry    time.Time
	beyond   []string
	// told means that events have been recorded.
	told bool
}

// Compose implements operon.Composer. It starts a run if one is due.
func (c *composer) Compose(ctx context.Context, object *engine.Object, out *operon.Composition) error {
	in, err := c.input(object, false)
	if err != nil {
		return operon.TerminalError(ReasonInvalidSpec, err)
	}
	settings, err := c.settingsOf(object)
	if err != nil {
		return operon.TerminalError(ReasonInvalidSpec, err)
	}
	if settings.ignored != "" {
		out.Warning(ReasonInvalidSpec, settings.ignored)
	}
	j := c.job(object)
	if j != nil && j.run == nil {
		wait(out, object, in, j)
		return nil
	}
	why, err := c.due(ctx, object, out, in, j, settings)
	if err != nil {
		return err
	}
	if why != "" && out.DryRun() {
		out.Wait(reasonRunning, fmt.Sprintf("%s would be run: %s", in.source, why))
		return nil
	}
	if why != "" {
		c.begin(object, in, why, settings, false)
		wait(out, object, in, j)
		return nil
	}
	skippedTotal.WithLabelValues(c.watch.Kind.Kind).Inc()
	c.tell(object.UID, j, out)
	if last := lastRun(object, j); last.Failed != "" {
		out.Wait(reasonFailed, last.Failed)
	}
	return nil
}

// wait makes the object not ready while a run takes place that a change of the spec or the role has caused, or a failure. An
// object that is run again because of other changes stays ready.
func wait(out *operon.Composition, object *engine.Object, in *input, j *job) {
	if last := lastRun(object, j); last == nil || last.Input != in.digest || last.Failed != "" {
		out.Wait(reasonRunning, messageRunning)
	}
}

// settings are the annotations of an object. They override those of the entry.
type settings struct {
	period  *time.Duration
	verbose int
	// ignored describes an annotation that has no effect because of its value.
	ignored string
}

func (t *entry) settingsOf(object *engine.Object) (settings, error) {
	s := settings{verbose: t.verbose}
	if text := object.Annotations[verbosityAnnotation]; text != "" {
		if n, err := strconv.Atoi(text); err == nil && 0 <= n && n <= 7 {
			s.verbose = n
		} else {
			s.ignored = fmt.Sprintf("the annotation %s is ignored: it is %q, which is not a number from 0 to 7", verbosityAnnotation, text)
		}
	}
	if text := object.Annotations[periodAnnotation]; text != "" {
		period, err := t.watch.Period(text)
		if err != nil {
			return s, fmt.Errorf("the annotation %s: %w", periodAnnotation, err)
		}
		s.period = &period
	}
	return s, nil
}

// job returns a copy of the job of an object, or nil. A job whose end the status shows is forgotten, except for its failures.
func (c *composer) job(object *engine.Object) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[object.UID]
	if j == nil {
		return nil
	}
	copied := *j
	if j.run != nil && c.manageStatus && j.failures == 0 && j.told && shown(object, j.run) {
		delete(c.jobs, object.UID)
	}
	return &copied
}

// shown reports whether the status shows a run or a later one, which another replica may have recorded.
func shown(object *engine.Object, run *engine.Run) bool {
	last := object.Status.LastRun
	return last != nil && !last.Ended.Before(&run.Ended)
}

// lastRun returns the last run that has ended.
func lastRun(object *engine.Object, j *job) *engine.Run {
	if run, _ := j.ended(); run != nil && !j.deleting && !shown(object, run) {
		return run
	}
	return object.Status.LastRun
}

// ended returns the last run that has ended, if it is known, and its result.
func (j *job) ended() (*engine.Run, *engine.RunResult) {
	if j == nil {
		return nil, nil
	}
	if j.run != nil {
		return j.run, j.result
	}
	return j.before, j.beforeResult
}

// tell records events about a run that has ended, once.
func (c *composer) tell(uid types.UID, j *job, out *operon.Composition) {
	if j == nil || j.told || j.deleting {
		return
	}
	c.mu.Lock()
	if current := c.jobs[uid]; current != nil && current.run == j.run {
		current.told = true
	}
	c.mu.Unlock()
	if j.run.Failed != "" {
		out.Warning(reasonFailed, j.run.Failed)
	} else if r := j.result; r != nil {
		out.Event(reasonSuccessful, fmt.Sprintf("The run ended: ok=%d changed=%d skipped=%d", r.OK, r.Changed, r.Skipped))
	}
	if c.finalizer == nil && len(j.beyond) > 0 {
		out.Warning(reasonBeyond, fmt.Sprintf("The objects %v stay when this object is deleted, because garbage collection deletes only objects in its namespace. Delete them in a role that finalizer in watches.yaml names", j.beyond))
	}
}
