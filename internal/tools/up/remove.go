package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

const (
	// removeInterval is how often it is looked whether an object is gone.
	removeInterval = 20 * time.Millisecond
	// noticed is how long API servers may take to notice that a policy is gone.
	noticed = 20 * time.Second
	// unattended is how long an object may keep its finalizers before somebody must see to them.
	unattended = 300 * time.Millisecond
)

// objects is where an item is in the API.
func (i *inventory) objects(one item) dynamic.ResourceInterface {
	if namespace := one.object.GetNamespace(); namespace != "" {
		return i.client.Resource(one.resource).Namespace(namespace)
	}
	return i.client.Resource(one.resource)
}

// remove deletes items and waits until they are gone.
func (r *remover) remove(ctx context.Context, items []item) error {
	if err := r.delete(ctx, items); err != nil {
		return err
	}
	return r.waitGone(ctx, items)
}

// delete asks for the deletion of items, and of what they own before them.
func (r *remover) delete(ctx context.Context, items []item) error {
	var problems []error
	for _, one := range items {
		err := r.deleteOne(ctx, one)
		if err != nil && !kube.IsGone(err) {
			problems = append(problems, fmt.Errorf("remove %s: %w", tree.Address(one.object), err))
		}
	}
	return errors.Join(problems...)
}

// deleteOne asks for the deletion of an item, for a while also where a policy refuses it: it may be one that was removed
// just now.
func (r *remover) deleteOne(ctx context.Context, one item) error {
	foreground, uid := metav1.DeletePropagationForeground, one.object.GetUID()
	options := metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &uid}}
	patient, cancel := context.WithTimeout(ctx, noticed)
	defer cancel()
	tick := time.NewTicker(removeInterval)
	defer tick.Stop()
	for {
		err := r.inventory.objects(one).Delete(ctx, one.object.GetName(), options)
		if err == nil || len(r.inventory.policies) == 0 || !refusedByPolicy(err) {
			return err
		}
		select {
		case <-patient.Done():
			return err
		case <-tick.C:
		}
	}
}

// waitGone waits until all items are gone, saying so of each.
func (r *remover) waitGone(ctx context.Context, items []item) error {
	tick := time.NewTicker(removeInterval)
	defer tick.Stop()
	for {
		left, err := r.left(ctx, items)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			r.sayGone(items, left)
			items = left
		}
		if len(items) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return stillThere(context.Cause(ctx), items)
		case <-tick.C:
		}
	}
}

// left are the items that are still there, as they are now.
func (r *remover) left(ctx context.Context, items []item) ([]item, error) {
	var left []item
	for _, one := range items {
		found, err := r.inventory.objects(one).Get(ctx, one.object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && found.GetUID() != one.object.GetUID() {
			continue
		}
		if err != nil {
			return nil, err
		}
		left = append(left, item{one.resource, found})
	}
	return left, nil
}

func (r *remover) sayGone(before, left []item) {
	for _, one := range before {
		if !slices.ContainsFunc(left, func(l item) bool { return l.object.GetUID() == one.object.GetUID() }) {
			r.say("removed %s", tree.Address(one.object))
		}
	}
}

// stillThere says what each object waits for.
func stillThere(cause error, items []item) error {
	lines := []string{fmt.Sprintf("%v: %s left", cause, count(len(items), "object"))}
	for _, one := range items {
		line := "  " + tree.Address(one.object)
		if finalizers := one.object.GetFinalizers(); len(finalizers) > 0 {
			line += " waits for its finalizer " + strings.Join(finalizers, ", ")
		}
		for _, condition := range tree.Conditions(one.object) {
			if one.object.GetKind() == "Namespace" && condition.Status == "True" {
				line += "; " + condition.Message
			}
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}
