package ansible

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
)

// due returns the reason for a run, or an empty string if none is due.
func (c *composer) due(ctx context.Context, object *engine.Object, out *operon.Composition, in *input, j *job, s settings) (string, error) {
	last := lastRun(object, j)
	if last == nil {
		return "it has not run yet", nil
	}
	if last.Input != in.digest {
		return "the spec or the role has changed", nil
	}
	if last.Failed != "" && (j == nil || time.Until(j.retry) <= 0) {
		return "the last run failed", nil
	}
	why, open, err := c.dependency(ctx, out, last)
	if err != nil {
		return "", err
	}
	if last.Failed == "" && why == "" {
		return c.timer(out, last, s, cmp.Or(last.Open, open)), nil
	}
	var next time.Time
	if last.Failed == "" {
		next = c.earliest(object.UID)
	} else if next = j.retry; why != "" && last.Ended.Add(timing.changedRetry).Before(next) {
		// The change may be the one for which the role waits, so the run need not wait for its backoff.
		next = last.Ended.Add(timing.changedRetry)
	}
	if left := time.Until(next); left > 0 {
		out.RequeueAfter(left)
		return "", nil
	}
	return cmp.Or(why, "the last run failed"), nil
}

// earliest returns the earliest time of a run that a change of another object causes, and counts this run if that is now.
func (c *composer) earliest(object types.UID) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limits[object]
	if limit == nil {
		limit = rate.NewLimiter(rate.Every(timing.changedEvery), changesAtOnce)
		c.limits[object] = limit
	}
	reservation := limit.Reserve()
	left := reservation.Delay()
	if left > 0 {
		reservation.Cancel()
	}
	return time.Now().Add(left)
}

// changesAtOnce is how many runs of an object changes of other objects may cause without a delay. After that, one of them is
// run every timing.changedEvery: the object may change all the time, as a Node does.
const changesAtOnce = 20

// dependency returns the reason if an object has changed that the last run read or wrote. All of them are watched from now on.
// open is a reason why a change may go unnoticed.
func (c *composer) dependency(ctx context.Context, out *operon.Composition, last *engine.Run) (why, open string, err error) {
	for _, o := range last.Objects {
		changed, watched, err := c.changed(ctx, out, o)
		if err != nil {
			return "", "", err
		}
		if changed {
			return proxy.Place(o) + " has changed", "", nil
		}
		if !watched {
			open = cmp.Or(open, "the operator may not watch "+proxy.Place(o))
		}
	}
	return "", open, nil
}

// timer returns the reason if the time of the next run has come. Otherwise, the object is reconciled at that time. A run that is
// open is repeated after the period.
func (c *composer) timer(out *operon.Composition, last *engine.Run, s settings, open string) string {
	period := c.period
	if s.period != nil {
		period = *s.period
	}
	var next time.Time
	why := ""
	if open != "" && period > 0 {
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

// changed reports whether an object has changed since the last run, and whether it is watched. The cache may be older than the
// run, so a difference is checked with the API server. Of what the operator may not read any more, a change is not noticed.
func (c *composer) changed(ctx context.Context, reader reader, o engine.RunObject) (changed, watched bool, err error) {
	cached, err := cachedVersion(ctx, reader, o)
	watched = watchable(err)
	if watched && (err != nil || cached == o.Version) {
		return false, true, err
	}
	live, err := c.shared.proxy.Live(ctx, o)
	if apierrors.IsForbidden(err) {
		return false, false, nil
	}
	return err == nil && live != o.Version, watched, err
}

// watchable reports whether an error of a read says anything else than that the object may not be watched.
func watchable(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsMethodNotSupported(err)
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
	return proxy.ListVersion(list.Items, o.WithStatus), nil
}
