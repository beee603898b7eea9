package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/testing/box"
)

// boxesOfTenant is the number of the tenant's objects, and pauseOfTenant is its pause after a change.
const (
	boxesOfTenant = 5
	pauseOfTenant = 50 * time.Millisecond
)

// measurement is the resource usage of one run, and the times of the tenant's changes.
type measurement struct {
	peak, requests  int64
	writes, attacks int
	took            []time.Duration
}

// perWrite returns the number of requests of the operator for each write of a tenant that it serves.
func (m measurement) perWrite() float64 { return float64(m.requests) / float64(m.writes+m.attacks) }

func (m measurement) quantile(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(m.took))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// tenant changes its objects one at a time.
type tenant struct {
	client.Client
	namespace string
	boxes     []*box.Box
}

func (t *tenant) prepare(ctx context.Context) error {
	for i := range boxesOfTenant {
		b := &box.Box{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: fmt.Sprint("box-", i)}}
		if err := t.Create(ctx, b); err != nil {
			return err
		}
		if _, err := t.change(ctx, b); err != nil {
			return err
		}
		t.boxes = append(t.boxes, b)
	}
	return nil
}

func (t *tenant) uids() (uids []types.UID) {
	for _, b := range t.boxes {
		uids = append(uids, b.UID)
	}
	return uids
}

// work changes objects for a duration, and returns the time of each change.
func (t *tenant) work(ctx context.Context, during time.Duration) (took []time.Duration, err error) {
	for end := time.Now().Add(during); time.Now().Before(end); {
		one, err := t.change(ctx, t.boxes[len(took)%len(t.boxes)])
		if err != nil {
			return took, err
		}
		took = append(took, one)
		select {
		case <-ctx.Done():
			return took, ctx.Err()
		case <-time.After(pauseOfTenant):
		}
	}
	return took, nil
}

// change changes the spec of a Box, and returns the time until the status reflected the change.
func (t *tenant) change(ctx context.Context, b *box.Box) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	events, err := t.Client.(client.WithWatch).Watch(ctx, &box.BoxList{}, client.InNamespace(t.namespace), client.MatchingFields{"metadata.name": b.Name})
	if err != nil {
		return 0, err
	}
	defer events.Stop()
	began := time.Now()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"data":{"at":"%d"}}}`, began.UnixNano()))
	if err := t.Patch(ctx, b, patch); err != nil {
		return 0, err
	}
	for e := range events.ResultChan() {
		now, ok := e.Object.(*box.Box)
		if ok && e.Type != watch.Deleted && now.Status.ObservedGeneration >= b.Generation && meta.IsStatusConditionTrue(now.Status.Conditions, "Ready") {
			return time.Since(began), nil
		}
	}
	return 0, fmt.Errorf("%s was not ready in time: %w", b.Name, ctx.Err())
}
