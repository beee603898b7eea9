package ansible

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/playbook"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
)

// begin starts a run.
func (c *composer) begin(object *engine.Object, in *input, why string, s settings, deleting bool) {
	ctx, cancel := context.WithCancelCause(c.shared.stop)
	c.mu.Lock()
	j := &job{object: client.ObjectKeyFromObject(object), input: in.digest, deleting: deleting, cancel: cancel}
	if earlier := c.jobs[object.UID]; earlier != nil {
		j.before, j.beforeResult = earlier.ended()
		if earlier.input == in.digest {
			j.failures, j.furthest = earlier.failures, earlier.furthest
		}
	}
	before := lastRun(object, j)
	c.jobs[object.UID] = j
	c.mu.Unlock()
	session := &proxy.Session{Ignored: c.ignored, Managed: c.shared.kinds, Owner: proxy.Owner{
		Kind: c.watch.Kind, Namespace: object.Namespace, Name: object.Name, UID: object.UID,
	}}
	go func() {
		defer cancel(nil)
		key := client.ObjectKeyFromObject(object)
		ctrl.Log.WithName("ansible").Info("run", "kind", c.watch.Kind.Kind, "object", key, "reason", why)
		started := time.Now()
		run, result, leave := c.run(ctx, key, in, session, s.verbose)
		defer leave() // what follows is part of the run when the operator stops
		runSeconds.WithLabelValues(c.watch.Kind.Kind).Observe(time.Since(started).Seconds())
		if c.shared.stop.Err() != nil {
			return // a run that ended because the operator ends says nothing about the object
		}
		if !deleting {
			c.prune(ctx, session, before, run)
		}
		c.finish(j, run, result, session)
		c.sweep(ctx)
		select {
		case c.triggers <- key:
		case <-c.shared.stop.Done():
		}
	}()
}

// run waits for its turn and runs the role or playbook. It returns a function that gives up the turn.
func (c *composer) run(ctx context.Context, key types.NamespacedName, in *input, s *proxy.Session, verbosity int) (*engine.Run, *engine.RunResult, func()) {
	run := &engine.Run{Input: in.digest, Ended: now()}
	if err := c.turn(ctx, s.Owner, in.deleting); err != nil {
		run.Failed = err.Error()
		return run, nil, func() {}
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
		end.Failed = cmp.Or(end.Failed, err.Error())
	}
	run.Failed, run.Objects, run.Open = end.Failed, objects, cmp.Or(c.content.Open, end.Open, open)
	run.Ended = now()
	if end.Requeue > 0 {
		at := metav1.NewTime(time.Now().Add(end.Requeue))
		run.RequeueAt = &at
	}
	return run, end.Result, func() { <-c.slots }
}

func now() metav1.MicroTime { return metav1.NewMicroTime(time.Now().Truncate(time.Microsecond)) }

// turn takes a slot for a run. An object may have been deleted while its run waited for one, or the finalizers of one that is being
// deleted may have been removed by hand: then another object may have its name, and what a finalizer role deletes by name.
func (c *composer) turn(ctx context.Context, object proxy.Owner, deleting bool) error {
	if c.shared.draining.Err() == nil {
		select {
		case c.slots <- struct{}{}:
			return nil
		default:
		}
	}
	select {
	case c.slots <- struct{}{}:
	case <-c.shared.draining.Done(): // no run begins, and nothing has failed: the operator ends soon
		<-ctx.Done()
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	exists := c.shared.proxy.Exists
	if deleting {
		exists = c.shared.proxy.Terminating
	}
	if exists(ctx, object) {
		return nil
	}
	<-c.slots
	return errors.New("the object was deleted before its run began")
}

// sweep forgets the objects that have been deleted, from time to time. Objects without a finalizer are deleted unnoticed.
func (c *composer) sweep(ctx context.Context) {
	c.mu.Lock()
	var left []proxy.Owner
	if time.Since(c.swept) > timing.sweep {
		c.swept = time.Now()
		for uid, j := range c.jobs {
			if j.run != nil && time.Since(j.run.Ended.Time) > timing.sweep {
				left = append(left, proxy.Owner{Kind: c.watch.Kind, Namespace: j.object.Namespace, Name: j.object.Name, UID: uid})
			}
		}
		maps.DeleteFunc(c.limits, func(_ types.UID, limit *rate.Limiter) bool { return limit.Tokens() >= changesAtOnce })
	}
	c.mu.Unlock()
	for _, object := range left {
		if c.shared.proxy.Exists(ctx, object) {
			continue
		}
		c.mu.Lock()
		if j := c.jobs[object.UID]; j != nil && j.run != nil {
			delete(c.jobs, object.UID)
		}
		c.mu.Unlock()
	}
}

// execute runs the role or playbook with the permissions of a session.
func (c *composer) execute(ctx context.Context, key types.NamespacedName, in *input, s *proxy.Session, verbosity int) (playbook.Outcome, error) {
	if c.content.Mentions {
		live, err := s.ReadOwner(ctx)
		if err != nil {
			return playbook.Outcome{}, err
		}
		if live != nil {
			c.setLive(in, live.Object)
		}
	}
	kubeconfig, err := s.Kubeconfig(key.Namespace)
	if err != nil {
		return playbook.Outcome{}, err
	}
	return c.shared.worker.Execute(ctx, playbook.Job{
		Timeout: cmp.Or(c.engine.RunTimeout, timing.run),
		Object:  key.String(), Dir: c.dir, Role: in.role, Playbook: in.playbook, Vars: in.vars, Kubeconfig: kubeconfig, Verbosity: verbosity,
		Began: func(t playbook.Task) { s.Begin(c.content.AsksAPI || t.ReadsStatus()) },
	})
}

// finish records the end of a run.
func (c *composer) finish(j *job, run *engine.Run, result *engine.RunResult, s *proxy.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := "succeeded"
	if run.Failed == "" {
		j.failures, j.furthest = 0, 0
	} else {
		ended = "failed"
		if result != nil && result.OK > j.furthest {
			j.failures, j.furthest = 0, result.OK // the error is another one
		}
		j.retry = time.Now().Add(min(cmp.Or(c.engine.firstRetry, timing.firstRetry)<<min(j.failures, 12), timing.lastRetry))
		j.failures++
	}
	j.run, j.result, j.beyond = run, result, s.Beyond()
	runsTotal.WithLabelValues(c.watch.Kind.Kind, ended).Inc()
}

// prune deletes the children that earlier runs created and that a successful run no longer uses. It does so before the run is recorded,
// so that nothing is forgotten if the operator is killed. After a run that failed, or that asked to be repeated, all children stay.
func (c *composer) prune(ctx context.Context, session *proxy.Session, before, run *engine.Run) {
	if !c.prunes || before == nil {
		return
	}
	kept, err := session.Prune(ctx, before.Objects, run.Objects, run.Failed != "" || run.RequeueAt != nil)
	run.Objects = append(run.Objects, kept...)
	if err != nil {
		run.Failed = cmp.Or(run.Failed, err.Error())
	}
}
