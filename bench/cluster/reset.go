package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
)

// creators is the number of goroutines that create objects concurrently.
const creators = 16

// reset measures how long it takes to empty a cluster that contains objects.
func reset(ctx context.Context, b *bench) error {
	_, c, err := b.home.Up(ctx)
	if err != nil {
		return err
	}
	var took []time.Duration
	for range b.rounds {
		err := create(ctx, c, creators, b.objects, func(name string) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Data: map[string]string{"name": name}}
		})
		if err != nil {
			return err
		}
		began := time.Now()
		if err := b.cluster(ctx, "reset"); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	b.table = append(b.table, report.Within(fmt.Sprintf("reset with %d objects", b.objects), took, 300*time.Millisecond))
	return b.cluster(ctx, "down")
}

// create creates count objects, whose names are their numbers, some at a time.
func create(ctx context.Context, c client.Client, atATime, count int, object func(name string) client.Object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for i := range count {
		group.Go(func() error { return c.Create(ctx, object(fmt.Sprintf("bench-%d", i))) })
	}
	return group.Wait()
}
