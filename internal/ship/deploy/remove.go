package deploy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// goneInterval is how often it is looked whether objects are gone.
	goneInterval = 100 * time.Millisecond
	// tellInterval is how often it is said what is waited for.
	tellInterval = 5 * time.Second
)

// remove deletes objects and waits until they are gone.
func (u *undeployer) remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := u.delete(ctx, objects); err != nil {
		return err
	}
	return u.waitGone(ctx, objects)
}

func (u *undeployer) delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	var problems []error
	for _, object := range objects {
		if err := u.cluster.Delete(ctx, object); err != nil {
			problems = append(problems, fmt.Errorf("remove %s: %w", addressOf(object), err))
		}
	}
	return errors.Join(problems...)
}

// waitGone waits until objects are gone. What is left at the end of the time is in the error.
func (u *undeployer) waitGone(ctx context.Context, objects []*unstructured.Unstructured) error {
	left, err := u.waitUntil(ctx, objects, 0)
	if err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s left\n%s\n%s", context.Cause(ctx), count(len(left), "object"), strings.Join(waitingLines(left), "\n"), u.stuck(left))
}

// stuck is what to do about objects that do not go.
func (u *undeployer) stuck(left []*unstructured.Unstructured) string {
	if !slices.ContainsFunc(left, func(object *unstructured.Unstructured) bool { return len(foreignFinalizers(object)) > 0 }) {
		return "`operon undeploy` again goes on"
	}
	return "see by `operon logs` why the operator does not clear them, and repeat `operon undeploy`; --give-up-finalizers takes them off, and what the operator would have cleaned up outside of the cluster then stays"
}

// waitUntil waits until objects are gone, at most for the patience, where it is more than nothing. It
// returns those that are left, as they are now.
func (u *undeployer) waitUntil(ctx context.Context, objects []*unstructured.Unstructured, patience time.Duration) ([]*unstructured.Unstructured, error) {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	tick := time.NewTicker(goneInterval)
	defer tick.Stop()
	for told := time.Now(); ; {
		left, err := u.left(ctx, objects)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if err == nil {
			u.note(objects, left)
			objects = left
		}
		if len(objects) == 0 {
			return nil, nil
		}
		if time.Since(told) >= tellInterval {
			told = time.Now()
			u.options.say("waiting for %s:\n%s", count(len(objects), "object"), strings.Join(waitingLines(objects), "\n"))
		}
		select {
		case <-ctx.Done():
			return objects, nil
		case <-tick.C:
		}
	}
}

// left are the objects that are still there.
func (u *undeployer) left(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var left []*unstructured.Unstructured
	for _, object := range objects {
		found, err := u.cluster.Get(ctx, object)
		if err != nil {
			return nil, err
		}
		if found != nil && found.GetUID() == object.GetUID() {
			left = append(left, found)
		}
	}
	return left, nil
}

// note tells of those that are gone.
func (u *undeployer) note(before, left []*unstructured.Unstructured) {
	for _, object := range before {
		if slices.ContainsFunc(left, func(one *unstructured.Unstructured) bool { return one.GetUID() == object.GetUID() }) {
			continue
		}
		u.result.Removed = append(u.result.Removed, addressOf(object))
		u.options.say("removed %s", addressOf(object))
	}
}

func keysOf[V any](of map[string]V) iter.Seq[string] { return maps.Keys(of) }
