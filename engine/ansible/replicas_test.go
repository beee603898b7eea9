package ansible_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/testing/enginetest"
)

// Roles run in all replicas between which the objects are shared.
func TestReplicasRunRoles(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Shards = 4
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {name: "{{ ansible_operator_meta.name }}"}}
`)
	first, _ := m.Start()
	second, _ := m.Start()
	var table shardtable.Table
	m.Eventually("each replica to hold two shards", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := m.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: "engine-test-shards"}, lease); err != nil {
			return err
		}
		var err error
		table, err = shardtable.Parse(lease.Annotations[shard.TableAnnotation])
		held := map[string]int{}
		for _, holder := range table.Holders {
			held[holder]++
		}
		if err != nil || len(held) != 2 || held[""] > 0 || slices.Min(slices.Collect(maps.Values(held))) < 2 {
			return fmt.Errorf("held are %v, error %w", held, err)
		}
		return nil
	})
	var names []string
	for served := map[string]bool{}; len(names) < 10 || len(served) < 2; { // the UIDs of ten objects may all belong to one replica
		name := fmt.Sprint("stall-", len(names))
		served[table.Holders[table.SlotOf(m.Add(name, nil).GetUID())]] = true
		names = append(names, name)
	}
	for _, name := range names {
		m.EventuallyData(name, "name", name)
		m.AwaitReady(name)
	}
	for i, seen := range []*enginetest.Requests{first, second} {
		if !slices.ContainsFunc(seen.Writes(), func(write string) bool { return strings.Contains(write, "/configmaps") }) {
			t.Errorf("replica %d has run no role: it wrote %q", i, seen.Writes())
		}
	}
}

// A run that waits for its turn does not begin if its object is deleted in the meantime.
func TestRunOfADeletedObject(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	marks := t.TempDir()
	m.Write("watches.yaml", `
- group: market.example.com
  version: v1
  kind: Stall
  role: stall
  maxConcurrentReconciles: 1
`)
	m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.shell: touch `+marks+`/{{ ansible_operator_meta.name }}; while test -e `+marks+`/closed; do sleep 0.1; done
`)
	m.Must(os.WriteFile(filepath.Join(marks, "closed"), nil, 0o600))
	m.Add("one", nil)
	seen, _ := m.Start()
	began := func(name string) error {
		_, err := os.Stat(filepath.Join(marks, name))
		return err
	}
	m.Eventually("the first run to begin", func(context.Context) error { return began("one") })
	two := m.Add("two", nil)
	m.AwaitCondition("two", "Running", "True", "Running")
	m.Must(m.Delete(t.Context(), two))
	m.EventuallyGone(two)
	m.Must(os.Remove(filepath.Join(marks, "closed")))
	m.AwaitReady("one")
	m.Quiet(seen)
	if began("two") == nil {
		t.Error("the role ran for an object that was deleted")
	}
	m.Add("three", nil) // the slot is free again
	m.AwaitReady("three")
}

// The role of a finalizer that waits for its turn does not begin if the finalizer is removed by hand in the meantime: another object
// may have the name by then.
func TestRunOfARemovedFinalizer(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	marks := t.TempDir()
	m.Write("watches.yaml", `
- group: market.example.com
  version: v1
  kind: Stall
  role: stall
  maxConcurrentReconciles: 1
  finalizer: {name: market.example.com/close, vars: {state: absent}}
`)
	m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.shell: touch `+marks+`/{{ ansible_operator_meta.name }}-{{ state | default('present') }}; while test -e `+marks+`/closed; do sleep 0.1; done
`)
	seen, _ := m.Start()
	one, two := m.Add("one", nil), m.Add("two", nil)
	m.AwaitReady("one")
	m.AwaitReady("two")
	m.Must(os.WriteFile(filepath.Join(marks, "closed"), nil, 0o600))
	m.SetSpec("one", `{"awningColor":"green"}`)
	m.AwaitCondition("one", "Running", "True", "Running")
	m.Must(m.Delete(t.Context(), two))
	m.AwaitCondition("two", "Ready", "False", "Running")
	m.Must(m.Patch(t.Context(), two, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	m.EventuallyGone(two)
	two = m.Add("two", nil)
	m.Must(os.Remove(filepath.Join(marks, "closed")))
	m.AwaitReady("two")
	m.AwaitReady("one")
	m.Quiet(seen)
	if _, err := os.Stat(filepath.Join(marks, "two-absent")); err == nil {
		t.Error("the role of the finalizer ran for an object that was gone")
	}
	for _, object := range []client.Object{one, two} {
		m.Must(m.Delete(t.Context(), object))
		m.EventuallyGone(object)
	}
}

// Runs that are in progress when the operator stops may come to their end, and no others begin.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	m := newMarketWith(t, func() *ansible.Engine { return &ansible.Engine{GracefulShutdown: 4 * time.Minute} })
	marks := t.TempDir()
	m.Write("watches.yaml", "- {group: market.example.com, version: v1, kind: Stall, role: stall, maxConcurrentReconciles: 1}\n")
	m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.shell: touch `+marks+`/began; until test -e `+marks+`/go; do sleep 0.1; done
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {done: "yes"}}
`)
	m.Add("one", nil)
	_, stop := m.Start()
	m.Eventually("the run to begin", func(context.Context) error {
		_, err := os.Stat(filepath.Join(marks, "began"))
		return err
	})
	m.Add("two", nil)
	m.AwaitCondition("two", "Running", "True", "Running")
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(filepath.Join(marks, "go"), nil, 0o600) }() // the run goes on for longer than stop needs to begin
	stop()
	m.Must(<-written)
	if done := m.Data("one")["done"]; done != "yes" {
		t.Error("the run was ended")
	}
	if last := m.StatusOf("one").LastRun; last == nil || last.Failed != "" {
		t.Errorf("the status shows the run %+v: the next operator repeats it", last)
	}
	err := m.Get(t.Context(), client.ObjectKey{Namespace: m.Namespace, Name: "two"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a run began while the operator stopped: %v", err)
	}
}
