package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// status reads the object's status.
func (a *Answer) status(object *unstructured.Unstructured) {
	a.Observed, _, _ = unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	list, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	var conditions []metav1.Condition
	if data, err := json.Marshal(list); err == nil {
		_ = json.Unmarshal(data, &conditions) // conditions of another form are ignored
	}
	for i, c := range conditions {
		switch {
		case c.Type == "Ready":
			a.Ready = &conditions[i]
		case c.Type == "Reconciling" || c.Type == "Stalled":
			// These repeat the condition Ready.
		case c.Status != metav1.ConditionTrue:
			a.Conditions = append(a.Conditions, c)
		}
	}
	state, message := tree.Judge(object)
	a.State, a.Message = string(state), message
}

// look reads the child objects of the object, and the events of all of them.
func (a *Answer) look(ctx context.Context, cluster *rest.Config, object *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(ctx, timing.lookTime)
	defer cancel()
	snapshot, unseen, err := snapshotOf(ctx, cluster, object)
	if err != nil {
		a.Lacks = append(a.Lacks, fmt.Sprintf("children of the object: %v", err))
		return
	}
	if len(unseen) > 0 {
		a.Lacks = append(a.Lacks, fmt.Sprintf("children of kinds that you may not read: %v", unseen))
	}
	for _, root := range snapshot.Roots {
		for _, child := range root.Children {
			a.Trouble = append(a.Trouble, tree.Why(child)...)
		}
	}
	for _, e := range snapshot.Events {
		a.Events = append(a.Events, Event{At: e.Last, Type: e.Type, Object: e.Object, Reason: e.Reason, Message: e.Message, Count: e.Count})
	}
}

// snapshotOf reads all objects in the object's namespace, once.
func snapshotOf(ctx context.Context, cluster *rest.Config, object *unstructured.Unstructured) (tree.Snapshot, []string, error) {
	watcher, err := tree.Watch(ctx, cluster, nil)
	if err != nil {
		return tree.Snapshot{}, nil, err
	}
	watcher.Expect([]tree.Sample{{GroupVersionKind: object.GroupVersionKind(), Namespace: object.GetNamespace(), Name: object.GetName()}})
	look := time.NewTicker(timing.lookEvery)
	defer look.Stop()
	for !watcher.Complete() {
		select {
		case <-ctx.Done():
			return tree.Snapshot{}, nil, fmt.Errorf("not done after %s", timing.lookTime)
		case <-look.C:
		}
	}
	return watcher.Snapshot(), watcher.Unseen(), nil
}
