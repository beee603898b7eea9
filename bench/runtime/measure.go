package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
)

// measurement contains the measurements of one operator.
type measurement struct {
	converged             time.Duration
	used                  report.Process
	reads, writes, events int64
	idle, restart         int64
	drifts                []time.Duration
}

// quiet is how long an operator must send no request to count as settled.
const quiet = 3 * time.Second

func measure(ctx context.Context, name string, s settings) (m *measurement, err error) {
	c, err := startSites(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	m = &measurement{}
	operator, err := m.converge(ctx, c, name, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ignoreExit(operator.stop())) }()
	if m.idle, err = c.requestsDuring(ctx, s.idle); err != nil {
		return nil, err
	}
	if m.drifts, err = driftAll(ctx, c.Client, s); err != nil {
		return nil, err
	}
	if err := ignoreExit(operator.stop()); err != nil {
		return nil, err
	}
	restarted := c.audit.now()
	if operator, err = c.start(ctx, name, settings{workers: s.workers}); err != nil {
		return nil, err
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	counts, err := c.audit.count(restarted)
	m.restart = counts[write] + counts[event]
	return m, err
}

// converge runs the operator until all objects are ready.
func (m *measurement) converge(ctx context.Context, c *sites, name string, s settings) (*operator, error) {
	watch, err := c.Client.Watch(ctx, &SiteList{}, client.InNamespace(metav1.NamespaceDefault))
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	began, from := time.Now(), c.audit.now()
	o, err := c.start(ctx, name, s)
	if err != nil {
		return nil, err
	}
	if err := awaitAll(watch, contenders[name].condition, s.objects); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	m.converged = time.Since(began)
	if err := c.settle(ctx); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	counts, err := c.audit.count(from)
	if err != nil {
		return nil, errors.Join(err, o.stop())
	}
	m.reads, m.writes, m.events = counts[read], counts[write], counts[event]
	m.used, err = report.Usage(o.process.Process.Pid)
	return o, err
}

// awaitAll returns when the condition is true for count objects.
func awaitAll(watch apiwatch.Interface, condition string, count int) error {
	ready := map[types.UID]bool{}
	for event := range watch.ResultChan() {
		if event.Type == apiwatch.Error {
			return apierrors.FromObject(event.Object)
		}
		site, ok := event.Object.(*Site)
		if !ok || !meta.IsStatusConditionTrue(site.Status.Conditions, condition) {
			continue
		}
		if ready[site.UID] = true; len(ready) == count {
			return nil
		}
	}
	return fmt.Errorf("the watch ended when %d of %d objects were ready", len(ready), count)
}

// driftAll changes ConfigMaps, one at a time, and measures how long each stays changed.
func driftAll(ctx context.Context, c client.WithWatch, s settings) ([]time.Duration, error) {
	// The watch begins now: without a resource version, it would first return all existing objects, and the first change would wait
	// for that.
	var now corev1.ConfigMapList
	if err := c.List(ctx, &now, client.InNamespace(metav1.NamespaceDefault), client.Limit(1)); err != nil {
		return nil, err
	}
	watch, err := c.Watch(ctx, &now, client.InNamespace(metav1.NamespaceDefault), &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: now.ResourceVersion},
	})
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	var took []time.Duration
	for i := range s.drifts {
		d, err := drift(ctx, c, watch, siteName(i%s.objects))
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

func drift(ctx context.Context, c client.Client, watch apiwatch.Interface, name string) (time.Duration, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	changed := client.RawPatch(types.MergePatchType, []byte(`{"data":{"index.html":"changed"}}`))
	if err := c.Patch(ctx, object, changed); err != nil {
		return 0, err
	}
	began := time.Now()
	seen := false
	for event := range watch.ResultChan() {
		live, ok := event.Object.(*corev1.ConfigMap)
		if !ok || live.Name != name {
			continue
		}
		drifted := live.Data["index.html"] == "changed"
		if seen && !drifted {
			return time.Since(began), nil
		}
		seen = seen || drifted
	}
	return 0, fmt.Errorf("the watch ended before ConfigMap %s was as before", name)
}

// p99 returns the 99th percentile (nearest rank).
func p99(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*99+99)/100-1]
}

// operator is the process of an operator.
type operator struct{ process *exec.Cmd }

func (o *operator) stop() error {
	if o.process.ProcessState != nil {
		return nil
	}
	if err := o.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return o.process.Wait()
}

// ignoreExit ignores exit codes: an operator that is stopped may end with any exit code.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
