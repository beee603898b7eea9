package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/runtime/freshness"
)

// conditions returns what the operator reports of the object: in its status, or in memory.
func (o *object[T]) conditions() (condition.Status, error) {
	if o.detached != nil {
		return o.detached.Status(), nil
	}
	return condition.Of(o.now)
}

// writeStatus writes the status, if it changed.
func (o *object[T]) writeStatus(ctx context.Context) error {
	if o.detached != nil || !o.statusChanged() {
		return nil
	}
	err := o.writeLocked(ctx, func() error {
		// Only the status is written: other changes by the author's code are not sent.
		written := o.before.DeepCopyObject().(T)
		statusField(written).Set(statusField(o.now))
		return o.patchStatus(ctx, written)
	})
	if errors.Is(err, durable.ErrSuperseded) {
		o.missed = true // another operator reports
		return nil
	}
	if err == nil {
		o.entry.Wrote(o.id.Kind, "status")
	}
	return o.unlessGone(ctx, err)
}

// patchStatus is the only place that writes the status of a managed object. A merge patch replaces the list of conditions, and reaches any object of the name: the
// write fails if another client has written since.
func (o *object[T]) patchStatus(ctx context.Context, written T) error {
	patch, base := locked(o.before), o.before.GetResourceVersion()
	write := o.echoes.Begin(o.before, freshness.Status, o.seen)
	defer write.Abandoned()
	err := o.Client.Status().Patch(ctx, written, patch, client.FieldOwner(o.manager))
	if fields := missing(err); len(fields) > 0 {
		err = o.Client.Status().Patch(ctx, written, filled{patch, fields}, client.FieldOwner(o.manager))
	}
	if apierrors.IsInvalid(err) {
		err = &StatusError{Kind: o.id.Kind, Err: err}
	}
	if err != nil {
		o.missed = write.Failed() || o.missed
		return err
	}
	o.missed = write.Wrote(freshness.FormOf(written)) || o.missed
	o.sees(base, written)
	return nil
}

// rebase takes over the conditions that others have written since the object was read.
func rebase[T client.Object](o *object[T], now client.Object) {
	latest, err := condition.Of(now)
	if err != nil {
		return // only the metadata was read
	}
	before, _ := condition.Of(o.before)
	own, _ := condition.Of(o.now)
	own.Rebase(before, latest)
	before.Rebase(before, latest)
}

// statusChanged reports whether the status differs from the one that was read.
func (o *object[T]) statusChanged() bool {
	return o.detached == nil && !sameStatus(o.now, o.before)
}

// sameStatus reports whether two objects have the same status for the API server. The time zones of times may differ, for
// example: those that were read have the local one.
func sameStatus(a, b any) bool {
	one, other := statusOf(a), statusOf(b)
	if reflect.DeepEqual(one, other) {
		return true
	}
	first, err := json.Marshal(one)
	if err != nil {
		return false // the write reports the error
	}
	second, err := json.Marshal(other)
	return err == nil && bytes.Equal(first, second)
}

// onlyMessagesChanged reports whether only messages of conditions changed in the status.
func (o *object[T]) onlyMessagesChanged() (bool, error) {
	if !o.statusChanged() {
		return false, nil
	}
	before, after := o.before.DeepCopyObject(), o.now.DeepCopyObject()
	for _, object := range []any{before, after} {
		conditions, err := condition.Of(object)
		if err != nil {
			return false, err
		}
		conditions.DropMessages()
		dropSteps(object)
	}
	return sameStatus(before, after), nil
}

func statusOf(object any) any { return statusField(object).Interface() }

func hasStatus(object any) bool { return statusField(object).IsValid() }

func statusField(object any) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName("Status")
}
