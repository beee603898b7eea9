package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/testing/box"
)

// attacker is the hostile tenant.
type attacker struct {
	client.Client
	namespace string
	settings
	// victims are the UIDs of the other tenant's objects.
	victims []types.UID
	sent    atomic.Int64
}

// limited is one kind of attack with a rate limit.
type limited struct {
	*attacker
	*rate.Limiter
}

// attack runs all attacks at the same time until ctx ends, and returns the number of accepted writes. Each attack has an equal
// share of the rate. Objects are created in a burst.
func attack(ctx context.Context, c client.Client, namespace string, victims []types.UID, s settings) int {
	a := &attacker{Client: c, namespace: namespace, settings: s, victims: victims}
	kinds := []func(limited, context.Context){limited.numerous, limited.flood, limited.drift, limited.large, limited.plant}
	var all errgroup.Group
	for _, one := range kinds {
		all.Go(func() error {
			one(limited{a, rate.NewLimiter(rate.Limit(s.rate/float64(len(kinds))), s.boxes)}, ctx)
			return nil
		})
	}
	_ = all.Wait() // no attack returns an error: rejected requests are part of them
	return int(a.sent.Load())
}

// do sends a write when the rate limit allows it, and reports whether to continue.
func (a limited) do(ctx context.Context, write func() error) bool {
	if a.Wait(ctx) != nil {
		return false
	}
	if write() == nil {
		a.sent.Add(1)
	}
	return ctx.Err() == nil
}

func (a limited) box(name string) *box.Box {
	return &box.Box{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}, Spec: box.BoxSpec{Data: map[string]string{}}}
}

func (a limited) patch(ctx context.Context, object client.Object, format string, n int) bool {
	return a.do(ctx, func() error {
		return a.Patch(ctx, object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, n)))
	})
}

// numerous creates objects whose annotation lists kinds that do not exist.
func (a limited) numerous(ctx context.Context) {
	for i := range a.boxes {
		b := a.box(fmt.Sprint("many-", i))
		b.Annotations = map[string]string{plan.KindsAnnotation: fmt.Sprintf("A.x%d.example.com,B.x%d.example.com", i, i)}
		if !a.do(ctx, func() error { return a.Create(ctx, b) }) {
			return
		}
	}
	for i := 0; a.patch(ctx, a.box(fmt.Sprint("many-", i%a.boxes)), `{"spec":{"data":{"n":"%d"}}}`, i); i++ {
	}
}

// flood changes one object repeatedly.
func (a limited) flood(ctx context.Context) {
	b := a.box("flood")
	a.do(ctx, func() error { return a.Create(ctx, b) })
	for i := 0; a.patch(ctx, b, `{"spec":{"data":{"n":"%d"}}}`, i); i++ {
	}
}

// drift changes a child, which the operator reverts.
func (a limited) drift(ctx context.Context) {
	a.do(ctx, func() error { return a.Create(ctx, a.box("drift")) })
	child := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "drift"}}
	for i := 0; a.patch(ctx, child, `{"spec":{"selector":{"app":"hostile-%d"}}}`, i); i++ {
	}
}

// large creates a few objects of almost 1 MiB, and one with a thousand keys.
func (a limited) large(ctx context.Context) {
	keys := a.box("keys")
	for i := range 1000 {
		keys.Spec.Data[fmt.Sprint("key-", i)] = "value"
	}
	a.do(ctx, func() error { return a.Create(ctx, keys) })
	for i := range 3 {
		b := a.box(fmt.Sprint("large-", i))
		b.Spec.Data["text"] = strings.Repeat("x", 900<<10)
		a.do(ctx, func() error { return a.Create(ctx, b) })
	}
}

// plant changes an object that looks like a child object of the other tenant.
func (a limited) plant(ctx context.Context) {
	planted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.namespace, Name: "planted", Labels: map[string]string{plan.OwnerLabel: string(a.victims[0])},
	}}
	a.do(ctx, func() error { return a.Create(ctx, planted, client.FieldOwner("bench-operator")) })
	for i := 0; a.patch(ctx, planted, `{"metadata":{"annotations":{"operon.dev/applied":"%d"}}}`, i); i++ {
	}
}
