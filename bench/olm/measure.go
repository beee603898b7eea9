package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
)

// measure installs the operators, and then leaves the manager alone.
func (w *world) measure(ctx context.Context, pid int) ([]report.Figure, error) {
	image, err := w.publish()
	if err != nil {
		return nil, err
	}
	defer w.registry.Close()
	took, err := w.install(ctx, image)
	if err != nil {
		return nil, err
	}
	selected, err := w.selects(ctx)
	if err != nil {
		return nil, err
	}
	packages, listed, err := w.list(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "idle")
	if err := sleep(ctx, timing.settle); err != nil {
		return nil, err
	}
	since := time.Now()
	before, err := report.Usage(pid)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, w.idle); err != nil {
		return nil, err
	}
	after, err := report.Usage(pid)
	if err != nil {
		return nil, err
	}
	requests, err := w.requests(since)
	if err != nil {
		return nil, err
	}
	return []report.Figure{
		atMost(fmt.Sprintf("resident memory with %d namespaces and %d operators for all of them", w.namespaces, w.operators), after.Resident, memoryGoal),
		{Name: "… its peak", Operon: report.Megabytes(after.Peak), Met: report.None},
		{Name: fmt.Sprintf("requests in %s without changes, apart from watches and leases", w.idle), Operon: report.Count(requests), Goal: "0", Met: report.Judge(requests == 0)},
		{Name: "… CPU time", Operon: report.Seconds(after.CPU - before.CPU), Met: report.None},
		report.Within("Subscription to Succeeded, median", took, timing.installGoal),
		report.Within("… longest", []time.Duration{slices.Max(took)}, timing.installGoal),
		report.Within("new namespace to the group that selects it, median", selected, timing.namespaceGoal),
		report.Within(fmt.Sprintf("list of %d PackageManifests, median", packages), listed, timing.listGoal),
	}, nil
}

func atMost(name string, value, goal int64) report.Figure {
	return report.Figure{Name: name, Operon: report.Megabytes(value), Goal: "≤ " + report.Megabytes(goal), Met: report.Judge(value <= goal)}
}

// install installs the operators one after the other, and returns how long each took.
func (w *world) install(ctx context.Context, image string) ([]time.Duration, error) {
	for _, one := range []*unstructured.Unstructured{
		object("operators.coreos.com/v1", "OperatorGroup", operators, "all", nil),
		object("operators.coreos.com/v1", "OperatorGroup", selecting, "labeled", map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"selected": "yes"}},
		}),
		object("operators.coreos.com/v1alpha1", "CatalogSource", catalogs, "shop", map[string]any{"sourceType": "grpc", "image": image}),
	} {
		if err := w.Client.Create(ctx, one); err != nil {
			return nil, err
		}
	}
	if err := w.until(ctx, object("operators.coreos.com/v1alpha1", "CatalogSource", catalogs, "shop", nil), func(o *unstructured.Unstructured) bool {
		state, _, _ := unstructured.NestedString(o.Object, "status", "connectionState", "lastObservedState")
		return state == "READY"
	}); err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range w.operators {
		name := operatorName(i)
		begin := time.Now()
		if err := w.Client.Create(ctx, object("operators.coreos.com/v1alpha1", "Subscription", operators, name, map[string]any{
			"source": "shop", "sourceNamespace": catalogs, "name": name,
		})); err != nil {
			return nil, err
		}
		if err := w.until(ctx, object("operators.coreos.com/v1alpha1", "ClusterServiceVersion", operators, name+".v1.0.0", nil), func(o *unstructured.Unstructured) bool {
			phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
			return phase == "Succeeded"
		}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
		fmt.Fprintf(os.Stderr, "%s %s\n", name, report.Seconds(took[i]))
	}
	return took, nil
}

// selects returns how long it takes until a group has new namespaces.
func (w *world) selects(ctx context.Context) ([]time.Duration, error) {
	var took []time.Duration
	for i := range 5 {
		name := fmt.Sprintf("selected-%d", i)
		begin := time.Now()
		if err := w.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"selected": "yes"}}}); err != nil {
			return nil, err
		}
		if err := w.until(ctx, object("operators.coreos.com/v1", "OperatorGroup", selecting, "labeled", nil), func(o *unstructured.Unstructured) bool {
			names, _, _ := unstructured.NestedStringSlice(o.Object, "status", "namespaces")
			return slices.Contains(names, name)
		}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}

// until waits until an object has a state.
func (w *world) until(ctx context.Context, o *unstructured.Unstructured, holds func(*unstructured.Unstructured) bool) error {
	err := wait.PollUntilContextTimeout(ctx, timing.poll, timing.install, true, func(ctx context.Context) (bool, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return err == nil && holds(o), client.IgnoreNotFound(err)
	})
	if err != nil {
		status, _ := json.Marshal(o.Object["status"]) // beside the error
		return fmt.Errorf("%s %s: %w; its status is %s", o.GetKind(), o.GetName(), err, status)
	}
	return nil
}

func object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetAPIVersion(apiVersion)
	made.SetKind(kind)
	made.SetNamespace(namespace)
	made.SetName(name)
	if spec != nil {
		made.Object["spec"] = spec
	}
	return made
}

// requests counts the requests of the manager since a time, except for watches and leases.
func (w *world) requests(since time.Time) (int64, error) {
	file, err := os.Open(w.Audit)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	var count int64
	for lines.Scan() {
		var r struct {
			Verb, UserAgent          string
			RequestReceivedTimestamp time.Time
			ObjectRef                struct{ Resource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return 0, fmt.Errorf("%s: %w", w.Audit, err)
		}
		if strings.HasPrefix(r.UserAgent, managerName+"/") && !r.RequestReceivedTimestamp.Before(since) && r.Verb != "watch" && r.ObjectRef.Resource != "leases" {
			count++
			fmt.Fprintf(os.Stderr, "%s %s\n", r.Verb, r.ObjectRef.Resource)
		}
	}
	return count, lines.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
