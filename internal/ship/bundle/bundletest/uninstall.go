package bundletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// deleteSamples deletes all custom resources of the operator while it runs.
func (t *test) deleteSamples(ctx context.Context) (Stage, error) {
	stage := Stage{Version: t.bundle.CSV.Name}
	t.unwatch()
	if t.operator.ended() != nil { // an earlier stage has reported it; objects without finalizers can be deleted nevertheless
		t.operator, t.crashed = nil, true
	}
	all, err := t.customResources(ctx)
	if err != nil {
		return stage, err
	}
	if len(all) == 0 {
		return stage, skipError("there are no custom resources")
	}
	for _, one := range all {
		if err := t.client.Delete(ctx, one); err != nil {
			return stage, err
		}
	}
	var left []*unstructured.Unstructured
	err = t.await(ctx, func(time.Duration) (bool, string, error) {
		left, err = t.customResources(ctx)
		return len(left) == 0, removal.Lines(left), err
	})
	return stage, err
}

// customResources returns the objects of the kinds that the versions own, in the namespaces of the test.
func (t *test) customResources(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, v := range []*version{t.previous, t.bundle} {
		if v == nil {
			continue
		}
		for _, one := range v.CRDs {
			if seen[one.GetName()] {
				continue
			}
			seen[one.GetName()] = true
			found, err := t.objectsOf(ctx, one.Unstructured)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// objectsOf returns the objects of the kind of a CRD.
func (t *test) objectsOf(ctx context.Context, definition *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	found, err := t.client.Get(ctx, definition)
	if err != nil || found == nil {
		return nil, err
	}
	crd, err := kube.ReadCRD(found)
	if err != nil {
		return nil, err
	}
	resource, served := crd.Readable()
	if !served {
		return nil, nil
	}
	return t.client.List(ctx, resource, "", "")
}

// uninstall removes the operator with its CRDs, and looks for objects that were not there before it was installed.
func (t *test) uninstall(ctx context.Context) (Stage, error) {
	stage := Stage{Version: t.bundle.CSV.Name}
	t.stopOperator()
	state, err := olm.Read(ctx, t.client, t.namespace)
	if err != nil {
		return stage, err
	}
	names := []string{objectName}
	for i := range state.Subscriptions { // of dependencies
		if name := state.Subscriptions[i].Name; name != objectName {
			names = append(names, name)
		}
	}
	for _, name := range names {
		kept, err := t.remove(ctx, name)
		stage.Notes = append(stage.Notes, kept...)
		if err != nil {
			return stage, err
		}
	}
	t.client.Refresh()
	var left objects
	err = t.await(ctx, func(time.Duration) (bool, string, error) {
		now, err := t.list(ctx)
		left = now.without(t.before)
		return len(left) == 0, "left: " + left.String(), err
	})
	return stage, err
}

// remove removes the operator of a Subscription with its CRDs, and returns what stays. Nothing is left to do if it was removed with another one.
func (t *test) remove(ctx context.Context, name string) (kept []string, err error) {
	state, err := olm.Read(ctx, t.client, t.namespace)
	if err != nil || state.Subscription(t.namespace, name) == nil {
		return nil, err
	}
	plan, err := change.Plan(ctx, t.client, t.namespace, name, true)
	if err != nil {
		return nil, err
	}
	for _, one := range plan.Kept {
		kept = append(kept, "kept: "+one)
	}
	removing, progress, cancel := t.idling(ctx)
	defer cancel()
	told := map[string]bool{} // what it waits for is told again and again
	return kept, plan.Run(removing, t.client, func(line string) {
		if !told[line] {
			told[line] = true
			progress()
		}
	})
}

// idling returns a context that ends when nothing has called progress for the idle time.
func (t *test) idling(ctx context.Context) (idle context.Context, progress, cancel func()) {
	idle, end := context.WithCancelCause(ctx)
	limit := t.Idle
	timer := time.AfterFunc(limit, func() { end(fmt.Errorf("nothing new for %s", limit)) })
	return idle, func() { timer.Reset(limit) }, func() {
		timer.Stop()
		end(nil)
	}
}

// objects are objects of a cluster, by their UIDs.
type objects map[types.UID]*unstructured.Unstructured

// without returns the objects that others do not have.
func (o objects) without(others objects) objects {
	left := maps.Clone(o)
	maps.DeleteFunc(left, func(uid types.UID, _ *unstructured.Unstructured) bool { return others[uid] != nil })
	return left
}

func (o objects) String() string {
	var all []string
	for _, one := range o {
		text := tree.Address(one)
		if waits := removal.Foreign(one); len(waits) > 0 && one.GetDeletionTimestamp() != nil {
			text += " (being deleted, finalizers " + strings.Join(waits, ", ") + ")"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// transient are kinds of objects that Kubernetes and clients write for themselves, and that expire or stay without harm.
var transient = []string{"Event", "Lease", "EndpointSlice", "Endpoints", "PodMetrics", "NodeMetrics", "CSINode"}

// isOfNamespace reports whether an object is one that every namespace gets.
func isOfNamespace(object *unstructured.Unstructured) bool {
	return object.GetKind() == "ConfigMap" && object.GetName() == "kube-root-ca.crt" || object.GetKind() == "ServiceAccount" && object.GetName() == "default"
}

// isOfManager reports whether an object belongs to the lifecycle manager, which may write it at any time after its start.
func isOfManager(object *unstructured.Unstructured) bool {
	return object.GetNamespace() == managerNamespace || object.GetKind() == "APIService" && object.GetName() == packageService
}

// managerNamespace is the namespace of a lifecycle manager that runs on this machine, and packageService the APIService of its PackageManifests.
const managerNamespace, packageService = "olm-system", "v1.packages.operators.coreos.com"

// listers is the number of kinds that are listed at the same time.
const listers = 16

// list returns the objects of the cluster that count as left if they are new.
func (t *test) list(ctx context.Context) (objects, error) {
	kinds, _, err := t.client.Deletable()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	all := objects{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for _, kind := range kinds {
		group.Go(func() error {
			found, err := t.client.List(ctx, kind.GroupVersionResource, "", "")
			if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			for _, one := range found {
				if !slices.Contains(transient, one.GetKind()) && !isOfNamespace(one) && !isOfManager(one) && (t.mine == nil || t.mine(one)) {
					all[one.GetUID()] = one
				}
			}
			return err
		})
	}
	return all, errors.Join(group.Wait())
}
