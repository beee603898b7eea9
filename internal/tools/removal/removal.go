// Package removal deletes objects from a cluster and waits until they no longer exist. Tools that remove an operator need
// both: some objects may be deleted only when no other object needs them, and a finalizer may block the deletion of an object
// until its controller clears it, or forever.
//
// A [Remover] deletes and waits, [Foreign] returns the finalizers that a controller must clear, [Left] describes the objects
// that remain, and [Strip] removes finalizers that no controller clears.
package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Remover removes objects.
type Remover struct {
	Client *kube.Client
	// Gone is called with each object after it was deleted.
	Gone func(*unstructured.Unstructured)
	// Waiting is called every few seconds with the remaining objects. It may be nil.
	Waiting func([]*unstructured.Unstructured)
	// Before reports whether an object is deleted before the objects that it owns, because its finalizers need them. If it is nil, all are deleted after
	// them.
	Before func(*unstructured.Unstructured) bool
	// Retry reports whether a deletion that was rejected with an error may succeed soon. If it is nil, no deletion is retried.
	Retry func(error) bool
}

// Remove deletes objects and waits until they no longer exist.
func (r *Remover) Remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := r.Delete(ctx, objects); err != nil {
		return err
	}
	return r.WaitGone(ctx, objects)
}

// Delete requests the deletion of objects, and of the objects that they own.
func (r *Remover) Delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	var problems []error
	for _, object := range objects {
		if err := r.deleteOne(ctx, object); err != nil {
			problems = append(problems, fmt.Errorf("remove %s: %w", tree.Address(object), err))
		}
	}
	return errors.Join(problems...)
}

func (r *Remover) deleteOne(ctx context.Context, object *unstructured.Unstructured) error {
	request := r.Client.Delete
	if r.Before != nil && r.Before(object) {
		request = r.Client.DeleteBefore
	}
	patient, cancel := context.WithTimeout(ctx, timing.refusedFor)
	defer cancel()
	tick := time.NewTicker(timing.interval)
	defer tick.Stop()
	for {
		err := request(ctx, object)
		if err == nil || r.Retry == nil || !r.Retry(err) {
			return err
		}
		select {
		case <-patient.Done():
			return err
		case <-tick.C:
		}
	}
}

// WaitGone waits until objects no longer exist. If ctx ends first, the error names the objects that remain.
func (r *Remover) WaitGone(ctx context.Context, objects []*unstructured.Unstructured) error {
	left, err := r.Wait(ctx, objects)
	if err != nil || len(left) == 0 {
		return err
	}
	return Left(context.Cause(ctx), left)
}

// WaitFor is like Wait, with a timeout.
func (r *Remover) WaitFor(ctx context.Context, patience time.Duration, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.Wait(ctx, objects)
}

// Wait waits until objects no longer exist or ctx ends. It returns the current state of the objects that remain.
func (r *Remover) Wait(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	tick := time.NewTicker(timing.interval)
	defer tick.Stop()
	for reported, resumed := time.Now(), time.Now(); ; {
		left, err := r.left(ctx, objects)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if err == nil {
			objects = left
		}
		if len(objects) == 0 {
			return nil, nil
		}
		if r.Waiting != nil && time.Since(reported) >= timing.reportInterval {
			reported = time.Now()
			r.Waiting(objects)
		}
		if time.Since(resumed) >= timing.resumeInterval {
			resumed = time.Now()
			if err := r.resume(ctx, objects); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return objects, nil
		case <-tick.C:
		}
	}
}

// resume resumes the deletion of definitions that the API server has stopped.
func (r *Remover) resume(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := r.Client.ResumeDeletion(ctx, object); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// left returns the objects that still exist, and calls Gone for the others.
func (r *Remover) left(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var left, gone []*unstructured.Unstructured
	for _, object := range objects {
		found, err := r.Client.Get(ctx, object)
		if err != nil {
			return nil, err
		}
		if found == nil || found.GetUID() != object.GetUID() {
			gone = append(gone, object)
			continue
		}
		left = append(left, found)
	}
	for _, object := range gone {
		r.Gone(object)
	}
	return left, nil
}

// Foreign returns the finalizers of an object that Kubernetes' garbage collector does not clear.
func Foreign(object *unstructured.Unstructured) []string {
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(finalizer string) bool {
		return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
}

// Held reports whether an object has foreign finalizers.
func Held(object *unstructured.Unstructured) bool { return len(Foreign(object)) > 0 }

// Left returns an error that describes the objects that remain, and what each of them waits for.
func Left(cause error, objects []*unstructured.Unstructured) error {
	plural := "s"
	if len(objects) == 1 {
		plural = ""
	}
	return fmt.Errorf("%w: %d object%s left\n%s", cause, len(objects), plural, Lines(objects))
}

// Lines returns a line for each object with what it waits for: its finalizers and, for a namespace, the objects that remain
// in it.
func Lines(objects []*unstructured.Unstructured) string {
	var lines []string
	for _, object := range objects {
		line := "  " + tree.Address(object)
		finalizers := Foreign(object)
		if len(finalizers) == 0 { // it waits for the garbage collection of Kubernetes alone
			finalizers = object.GetFinalizers()
		}
		if len(finalizers) > 0 {
			line += " waits for its finalizer " + strings.Join(finalizers, ", ")
		}
		for _, condition := range tree.Conditions(object) {
			if object.GetKind() == "Namespace" && condition.Status == "True" {
				line += "; " + condition.Message
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Strip removes the foreign finalizers of an object and returns them. It returns none if the object was deleted, or if
// another object has its name now. On a conflict with another writer, the object is read and patched again.
func Strip(ctx context.Context, client *kube.Client, object *unstructured.Unstructured) (stripped []string, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stripped = nil
		now, err := client.Get(ctx, object)
		if err != nil || now == nil || now.GetUID() != object.GetUID() || !Held(now) {
			return err
		}
		foreign := Foreign(now)
		rest := slices.DeleteFunc(now.GetFinalizers(), func(one string) bool { return slices.Contains(foreign, one) })
		if _, err = client.Merge(ctx, now, map[string]any{"metadata": map[string]any{
			"finalizers": rest, "uid": now.GetUID(), "resourceVersion": now.GetResourceVersion(),
		}}); err == nil {
			stripped = foreign
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return stripped, err
}
