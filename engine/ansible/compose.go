package ansible

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/playbook"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
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

	mu   sync.Mutex
	jobs map[types.UID]*job
	// stop ends with the operator.
	stop context.Context
}

// job is the current or the last run for an object.
type job struct {
	input    string
	deleting bool
	cancel   context.CancelCauseFunc
	// run is nil until the run has ended.
	run    *engine.Run
	result *engine.RunResult
	// before is the run before this one, if its status was not written before this one began, and its result.
	before       *engine.Run
	beforeResult *engine.RunResult
	// failures counts the runs that failed in a row, and retry is the time of the next one.
	failures int
	retry    time.Time
	beyond   []string
	// told means that events have been recorded.
	told bool
}

// start lets runs start while the operator runs.
func (c *composer) start(m ctrl.Manager) error {
	c.slots = make(chan struct{}, c.workers)
	stop, cancel := context.WithCancelCause(context.Background())
	c.stop = stop
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		cancel(errors.New("the operator is being stopped"))
		return nil
	}))
}

// Compose implements operon.Composer. It starts a run if one is due.
func (c *composer) Compose(ctx context.Context, object *engine.Object, out *operon.Composition) error {
	in, err := c.input(object, false)
	if err != nil {
		return operon.TerminalError(ReasonInvalidSpec, err)
	}
	settings, err := settingsOf(object)
	if err != nil {
		return operon.TerminalError(ReasonInvalidSpec, err)
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

// settings are the annotations of an object.
type settings struct {
	period  *time.Duration
	verbose int
}

func settingsOf(object *engine.Object) (settings, error) {
	var s settings
	if text := object.Annotations[periodAnnotation]; text != "" {
		period, err := time.ParseDuration(text)
		if err != nil || period < 0 {
			return s, fmt.Errorf("the annotation %s is %q, which is not a duration such as 5m", periodAnnotation, text)
		}
		s.period = &period
	}
	if text := object.Annotations[verbosityAnnotation]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 7 {
			return s, fmt.Errorf("the annotation %s is %q: want a number from 0 to 7", verbosityAnnotation, text)
		}
		s.verbose = n
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

// due returns the reason for a run, or an empty string if none is due.
func (c *composer) due(ctx context.Context, object *engine.Object, out *operon.Composition, in *input, j *job, s settings) (string, error) {
	last := lastRun(object, j)
	if last == nil {
		return "there was none", nil
	}
	if last.Input != in.digest {
		return "the spec or the role has changed", nil
	}
	if last.Failed != "" && (j == nil || time.Until(j.retry) <= 0) {
		return "the last run failed", nil
	}
	why, err := c.dependency(ctx, out, last)
	if last.Failed == "" && err == nil && why == "" {
		return c.timer(out, last, s), nil
	}
	if last.Failed == "" || err != nil {
		return why, err
	}
	// The change may be the one for which the role waits, so the run need not wait for its backoff.
	next := j.retry
	if early := last.Ended.Add(timing.changedRetry); why != "" && early.Before(next) {
		next = early
	}
	if left := time.Until(next); left > 0 {
		out.RequeueAfter(left)
		return "", nil
	}
	return cmp.Or(why, "the last run failed"), nil
}

// dependency returns the reason if an object has changed that the last run read or wrote. All of them are watched from now on.
func (c *composer) dependency(ctx context.Context, out *operon.Composition, last *engine.Run) (string, error) {
	for _, o := range last.Objects {
		changed, err := c.changed(ctx, out, o)
		if err != nil {
			return "", err
		}
		if changed {
			return proxy.Place(o) + " has changed", nil
		}
	}
	return "", nil
}

// timer returns the reason if the time of the next run has come. Otherwise, the object is reconciled at that time.
func (c *composer) timer(out *operon.Composition, last *engine.Run, s settings) string {
	period := c.period
	if s.period != nil {
		period = *s.period
	}
	var next time.Time
	why := ""
	if last.Open != "" && period > 0 {
		next, why = last.Ended.Add(period), "the period has ended"
	}
	if last.RequeueAt != nil && (next.IsZero() || last.RequeueAt.Time.Before(next)) {
		next, why = last.RequeueAt.Time, "the last run asked for it"
	}
	if next.IsZero() {
		return ""
	}
	if left := time.Until(next); left > 0 {
		out.RequeueAfter(left)
		return ""
	}
	return why
}

// changed reports whether an object has changed since the last run. The cache may be older than the run, so a difference is
// checked with the API server.
func (c *composer) changed(ctx context.Context, reader reader, o engine.RunObject) (bool, error) {
	cached, err := cachedVersion(ctx, reader, o)
	if err != nil || cached == o.Version {
		return false, err
	}
	live, err := c.shared.proxy.Live(ctx, o)
	return err == nil && live != o.Version, err
}

// reader is the part of operon.Composition that reads.
type reader interface {
	Get(ctx context.Context, object client.Object) (bool, error)
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

func cachedVersion(ctx context.Context, reader reader, o engine.RunObject) (string, error) {
	kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	if o.Name != "" {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
		object.SetGroupVersionKind(kind)
		found, err := reader.Get(ctx, object)
		if err != nil || !found {
			return "", err
		}
		return proxy.Version(object, o.WithStatus), nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	selection := operon.Everything
	if o.Selector != "" {
		selector, err := labels.Parse(o.Selector)
		if err != nil {
			return "", err
		}
		selection = client.MatchingLabelsSelector{Selector: selector}
	}
	if err := reader.List(ctx, list, nil, client.InNamespace(o.Namespace), selection); err != nil {
		return "", err
	}
	return proxy.ListVersion(list.Items), nil
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

// begin starts a run.
func (c *composer) begin(object *engine.Object, in *input, why string, s settings, deleting bool) {
	ctx, cancel := context.WithCancelCause(c.stop)
	c.mu.Lock()
	j := &job{input: in.digest, deleting: deleting, cancel: cancel}
	if earlier := c.jobs[object.UID]; earlier != nil {
		j.before, j.beforeResult = earlier.ended()
		if earlier.input == in.digest {
			j.failures = earlier.failures
		}
	}
	c.jobs[object.UID] = j
	c.mu.Unlock()
	session := &proxy.Session{Ignored: c.ignored, Owner: proxy.Owner{
		Kind: c.watch.Kind, Namespace: object.Namespace, Name: object.Name, UID: object.UID,
	}}
	go func() {
		defer cancel(nil)
		key := client.ObjectKeyFromObject(object)
		ctrl.Log.WithName("ansible").Info("run", "kind", c.watch.Kind.Kind, "object", key, "reason", why)
		started := time.Now()
		run, result := c.run(ctx, key, in, session, max(c.verbose, s.verbose))
		runSeconds.WithLabelValues(c.watch.Kind.Kind).Observe(time.Since(started).Seconds())
		if c.stop.Err() != nil {
			return // a run that ended because the operator ends says nothing about the object
		}
		c.finish(j, run, result, session)
		select {
		case c.triggers <- key:
		case <-c.stop.Done():
		}
	}()
}

// run waits for its turn and runs the role or playbook.
func (c *composer) run(ctx context.Context, key types.NamespacedName, in *input, s *proxy.Session, verbosity int) (*engine.Run, *engine.RunResult) {
	run := &engine.Run{Input: in.digest}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		run.Failed = context.Cause(ctx).Error()
		return run, nil
	}
	c.shared.proxy.Open(s)
	end, err := c.execute(ctx, key, in, s, verbosity)
	c.shared.proxy.Close(s)
	var objects []engine.RunObject
	open := ""
	if err == nil {
		objects, open, err = s.Result(ctx)
	}
	if err != nil {
		end.Failed = first(end.Failed, err.Error())
	}
	run.Failed, run.Objects, run.Open = end.Failed, objects, first(c.open, end.Open, open)
	run.Ended = metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	if end.Requeue > 0 {
		at := metav1.NewTime(time.Now().Add(end.Requeue))
		run.RequeueAt = &at
	}
	return run, end.Result
}

// execute runs the role or playbook with the permissions of a session.
func (c *composer) execute(ctx context.Context, key types.NamespacedName, in *input, s *proxy.Session, verbosity int) (playbook.Outcome, error) {
	kubeconfig, err := s.Kubeconfig(key.Namespace)
	if err != nil {
		return playbook.Outcome{}, err
	}
	return c.shared.worker.Execute(ctx, playbook.Job{
		Timeout: cmp.Or(c.engine.RunTimeout, timing.run),
		Object:  key.String(), Dir: c.dir, Role: in.role, Playbook: in.playbook, Vars: in.vars, Kubeconfig: kubeconfig, Verbosity: verbosity,
		Began: func(t playbook.Task) { s.Begin(t.ReadsStatus()) },
	})
}

// finish records the end of a run.
func (c *composer) finish(j *job, run *engine.Run, result *engine.RunResult, s *proxy.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := "succeeded"
	if run.Failed == "" {
		j.failures = 0
	} else {
		ended = "failed"
		j.retry = time.Now().Add(min(cmp.Or(c.engine.firstRetry, timing.firstRetry)<<min(j.failures, 12), timing.lastRetry))
		j.failures++
	}
	j.run, j.result, j.beyond = run, result, s.Beyond()
	runsTotal.WithLabelValues(c.watch.Kind.Kind, ended).Inc()
}
