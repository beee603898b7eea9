package action

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
)

// turns ensures that only one Action at a time runs on a target.
type turns interface {
	// take takes the turn for an Action. If it is another Action's turn, take returns an error that the work must return, and
	// the work is called again when the other Action changes.
	take(ctx context.Context, a *v1alpha1.Action, run *durable.Run) error
	// leave gives up the turn of an Action that cannot begin.
	leave(ctx context.Context, a *v1alpha1.Action) error
}

// alone implements turns for an operator in which this process serves all Actions.
type alone struct {
	reader client.Reader

	mu sync.Mutex
	// taken contains the Action that may be running on each target. It may be over or deleted.
	taken map[taken]types.UID
}

// taken identifies a target.
type taken struct {
	namespace string
	v1alpha1.Target
}

func (t *alone) take(ctx context.Context, a *v1alpha1.Action, run *durable.Run) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all v1alpha1.ActionList
	if err := t.reader.List(ctx, &all, client.InNamespace(a.Namespace)); err != nil {
		return run.Retry(err)
	}
	key := taken{a.Namespace, a.Spec.Target}
	for i := range all.Items {
		other := &all.Items[i]
		if !rivals(a, other) || !begun(other) && t.taken[key] != other.UID {
			continue
		}
		now := &v1alpha1.Action{}
		now.SetName(other.Name)
		if found, err := run.Get(ctx, now); err != nil {
			return run.Retry(err)
		} else if found && now.UID == other.UID && !over(now) {
			return waitFor(run, now)
		}
	}
	t.taken[key] = a.UID
	return nil
}

func (t *alone) leave(_ context.Context, a *v1alpha1.Action) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := (taken{a.Namespace, a.Spec.Target}); t.taken[key] == a.UID {
		delete(t.taken, key)
	}
	return nil
}

// running contains the UID of the Action that this process is executing on each target. If that was deleted, no list shows it, but its
// current step may take a while to end.
type running struct{ sync.Map }

// begin records that an Action is executed. If another one still is, it returns an error that the work must return.
func (r *running) begin(a *v1alpha1.Action, run *durable.Run) error {
	if other, found := r.LoadOrStore(taken{a.Namespace, a.Spec.Target}, a.UID); found && other != a.UID {
		return run.WaitFor(timing.lookAgain, fmt.Sprintf("a deleted Action is still running on %s %s", a.Spec.Target.Kind, a.Spec.Target.Name))
	}
	return nil
}

// end records that an Action is no longer executed.
func (r *running) end(a *v1alpha1.Action) {
	r.CompareAndDelete(taken{a.Namespace, a.Spec.Target}, a.UID)
}

// begun reports whether an Action has begun and is not over.
func begun(a *v1alpha1.Action) bool { return a.Status.Journal != nil && !over(a) }

// rivals reports whether another Action has the same target and is not over.
func rivals(a, other *v1alpha1.Action) bool {
	return other.UID != a.UID && other.Spec.Target == a.Spec.Target && !over(other)
}

func waitFor(run *durable.Run, other *v1alpha1.Action) error {
	if why := unreadable(other); why != "" {
		return run.Wait(fmt.Sprintf("the Action %s may be running on %s %s: its journal %s", other.Name, other.Spec.Target.Kind, other.Spec.Target.Name, why))
	}
	return run.Wait(fmt.Sprintf("the Action %s is running on %s %s", other.Name, other.Spec.Target.Kind, other.Spec.Target.Name))
}

// TurnAnnotation is set on an Action that is about to begin if several replicas serve Actions. Its value is the UID of the
// Action.
const TurnAnnotation = "actions.operon.dev/turn"

// shared implements turns for an operator in which different replicas may serve the Actions on one target. Replicas cannot
// lock, but each Action announces that it is about to begin before it checks for others. Of two such Actions, the one that
// checks last sees the other, so at most one begins. The later Action then gives way.
type shared struct{ client.Client }

func (t *shared) take(ctx context.Context, a *v1alpha1.Action, run *durable.Run) error {
	watched := ""
	for {
		mine, rival, err := t.look(ctx, a)
		switch {
		case err != nil:
			return run.Retry(err)
		case mine == nil:
			return run.Wait("it is gone")
		case rival == nil && wanted(mine):
			return nil
		case rival == nil:
			err = t.want(ctx, a, true)
		case rival.Name == watched: // it has not changed since the last check
			return waitFor(run, rival)
		case wanted(mine) && !begun(rival) && before(rival, mine):
			err = t.want(ctx, a, false)
		}
		if err == nil && rival != nil {
			watched, err = rival.Name, watch(ctx, run, rival.Name)
		}
		if err != nil {
			return run.Retry(err)
		}
	}
}

// leave lets other Actions begin, because this Action waits for something else.
func (t *shared) leave(ctx context.Context, a *v1alpha1.Action) error {
	if !wanted(a) {
		return nil
	}
	return t.want(ctx, a, false)
}

// wanted reports whether an Action has announced that it is about to begin.
func wanted(a *v1alpha1.Action) bool { return a.Annotations[TurnAnnotation] == string(a.UID) }

// before reports whether a precedes b if both are about to begin.
func before(a, b *v1alpha1.Action) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// look returns the current state of an Action, and another Action that has begun, or else one that is about to begin, or nil.
// It queries the API server, because a cache may not show yet that the other Action has begun.
func (t *shared) look(ctx context.Context, a *v1alpha1.Action) (mine, rival *v1alpha1.Action, _ error) {
	var all v1alpha1.ActionList
	if err := t.List(ctx, &all, client.InNamespace(a.Namespace)); err != nil {
		return nil, nil, err
	}
	for i := range all.Items {
		other := &all.Items[i]
		if other.UID == a.UID {
			mine = other
		}
		if !rivals(a, other) || !begun(other) && !wanted(other) {
			continue
		}
		if rival == nil || begun(other) || !begun(rival) && before(other, rival) {
			rival = other
		}
	}
	return mine, rival, nil
}

// watch makes the work run again when an Action changes.
func watch(ctx context.Context, run *durable.Run, name string) error {
	watched := &v1alpha1.Action{}
	watched.SetName(name)
	_, err := run.Get(ctx, watched)
	return err
}

// want announces that an Action is about to begin, or withdraws the announcement.
func (t *shared) want(ctx context.Context, a *v1alpha1.Action, wants bool) error {
	value := any(nil)
	if wants {
		value = string(a.UID)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": a.UID, "annotations": map[string]any{TurnAnnotation: value}}})
	if err != nil {
		return err
	}
	now := &v1alpha1.Action{}
	now.SetNamespace(a.Namespace)
	now.SetName(a.Name)
	return t.Patch(ctx, now, client.RawPatch(types.MergePatchType, patch))
}
