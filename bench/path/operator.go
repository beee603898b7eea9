package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/box"
)

// rest is how long the operator must be idle.
const rest = 3 * time.Second

// copies composes a ConfigMap with the data of the Box, and observes it.
type copies struct{}

func (copies) Compose(_ context.Context, b *box.Box, out *operon.Composition) error {
	out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: b.Spec.Data})
	return nil
}

func (copies) Observe(ctx context.Context, b *box.Box, seen *operon.Observed) error {
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name}}
	if found, err := seen.Child(ctx, child); err != nil || !found {
		return err
	}
	b.Status.Seen = []string{child.Data["a"]}
	return nil
}

// operate runs the operator, changes a Box, and writes the counters of the code that ran in the meantime.
func operate(ctx context.Context, counters string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := box.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, "box-operator", config, operon.Config{Namespace: "default"}, operon.API(box.AddToScheme), operon.Manage(copies{}))
	}()
	err = change(ctx, c, counters)
	stop()
	return errors.Join(err, <-ended)
}

// change creates a Box, and measures which code runs after a change of its spec.
func change(ctx context.Context, c client.Client, counters string) error {
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "path"}, Spec: box.BoxSpec{Data: map[string]string{"a": "1"}}}
	if err := c.Create(ctx, b); err != nil {
		return err
	}
	if err := seen(ctx, c, b, "1"); err != nil {
		return err
	}
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	b.Spec.Data["a"] = "2"
	if err := c.Update(ctx, b); err != nil {
		return err
	}
	if err := seen(ctx, c, b, "2"); err != nil {
		return err
	}
	return errors.Join(coverage.WriteMetaDir(counters), coverage.WriteCountersDir(counters))
}

// seen waits until the status contains a value, and then gives the operator the time of rest to become idle.
func seen(ctx context.Context, c client.Client, b *box.Box, value string) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(b), b)
		return err == nil && len(b.Status.Seen) == 1 && b.Status.Seen[0] == value, err
	})
	if err != nil {
		return fmt.Errorf("wait for the status to show %s: %w", value, err)
	}
	select {
	case <-time.After(rest):
	case <-ctx.Done():
	}
	return ctx.Err()
}
