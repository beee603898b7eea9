package projecttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// listers is the number of kinds that are listed at the same time.
const listers = 16

// children returns the objects that an operator has created for a custom resource: those that have it as owner, in an owner reference, in a
// label of Operon, or in annotations of Operator SDK, which objects in other namespaces have.
func (t *test) children(ctx context.Context, owner *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	kinds, _, err := t.running.Client().Deletable()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []*unstructured.Unstructured
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for _, kind := range kinds {
		group.Go(func() error {
			found, err := list(ctx, t.running.Client(), kind.GroupVersionResource)
			mu.Lock()
			defer mu.Unlock()
			for _, object := range found {
				if owns(owner, object) {
					all = append(all, object)
				}
			}
			return err
		})
	}
	return all, group.Wait()
}

// list lists a kind. Kinds that the user may not list are left out.
func list(ctx context.Context, client *kube.Client, resource schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	found, err := client.List(ctx, resource, "", "")
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	return found, err
}

// Annotations of Operator SDK on objects that cannot have an owner reference.
const (
	primaryAnnotation     = "operator-sdk/primary-resource"
	primaryTypeAnnotation = "operator-sdk/primary-resource-type"
)

func owns(owner, object *unstructured.Unstructured) bool {
	if slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
		return true
	}
	if object.GetLabels()[plan.OwnerLabel] == string(owner.GetUID()) {
		return true
	}
	annotations := object.GetAnnotations()
	name := strings.TrimPrefix(owner.GetNamespace()+"/"+owner.GetName(), "/")
	return annotations[primaryAnnotation] == name && annotations[primaryTypeAnnotation] == owner.GroupVersionKind().GroupKind().String()
}

// snapshot is the state of a custom resource and its children, by address.
type snapshot map[string]*unstructured.Unstructured

func (t *test) snapshot(ctx context.Context, sample *unstructured.Unstructured) (snapshot, error) {
	now, err := t.running.Client().Get(ctx, sample)
	if err != nil {
		return nil, err
	}
	if now == nil {
		return nil, fmt.Errorf("%s was deleted", tree.Address(sample))
	}
	children, err := t.children(ctx, sample)
	if err != nil {
		return nil, err
	}
	all := snapshot{}
	for _, object := range append(children, now) {
		all[tree.Address(object)] = object
	}
	return all, nil
}

// compare returns an error that names the objects and fields that differ in a later snapshot.
func (s snapshot) compare(after snapshot) error {
	var lines []string
	for _, address := range slices.Sorted(maps.Keys(s)) {
		switch now := after[address]; {
		case now == nil:
			lines = append(lines, address+" was deleted")
		case now.GetUID() != s[address].GetUID():
			lines = append(lines, address+" was deleted and created again")
		default:
			if change := change(s[address], now); change != "" {
				lines = append(lines, address+" "+change)
			}
		}
	}
	for _, address := range slices.Sorted(maps.Keys(after)) {
		if s[address] == nil {
			lines = append(lines, address+" was created")
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New("nothing had changed, and the operator wrote again:\n" + strings.Join(lines, "\n"))
}

// change describes what a writer has changed in an object, or returns "". Others than the operator write the status. An object that has none
// and another version was written twice.
func change(before, after *unstructured.Unstructured) string {
	was, is := written(before), written(after)
	if fields := differences("", was, is); len(fields) > 0 {
		return "was changed: " + strings.Join(fields, ", ")
	}
	_, hasStatus := after.Object["status"]
	switch {
	case before.GetGeneration() != after.GetGeneration():
		return "was changed twice: its generation has changed, and its content has not"
	case !hasStatus && before.GetResourceVersion() != after.GetResourceVersion():
		return "was written: its resource version has changed, and its content has not"
	}
	return ""
}

// written returns the fields of an object that neither the API server nor a controller of Kubernetes writes.
func written(object *unstructured.Unstructured) map[string]any {
	copied := object.DeepCopy().Object
	delete(copied, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(copied, "metadata", field)
	}
	return copied
}

// differences returns the paths of fields that differ.
func differences(path string, was, is map[string]any) []string {
	keys := maps.Clone(was)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, is)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		below := strings.TrimPrefix(path+"."+key, ".")
		before, isMap := was[key].(map[string]any)
		after, isMapToo := is[key].(map[string]any)
		switch {
		case isMap && isMapToo:
			all = append(all, differences(below, before, after)...)
		case !reflect.DeepEqual(was[key], is[key]):
			all = append(all, below)
		}
	}
	return all
}

// deleteRest deletes the custom resources that a scenario has left, while the operator runs that has to clean up after them. Those that stay
// are removed without it.
func (t *test) deleteRest(ctx context.Context) error {
	if t.running.Ended() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timing.collected)
	defer cancel()
	var rest []*unstructured.Unstructured
	for _, definition := range t.running.Project().CRDs {
		crd, err := kube.ReadCRD(definition.Unstructured)
		if err != nil {
			return err
		}
		resource, served := crd.Readable()
		if !served {
			continue
		}
		found, err := list(ctx, t.running.Client(), resource)
		if err != nil {
			return err
		}
		rest = append(rest, found...)
	}
	if len(rest) == 0 {
		return nil
	}
	for _, object := range rest {
		if err := t.remove(ctx, object); err != nil && !kube.IsGone(err) {
			return err
		}
	}
	_, err := t.remover().Wait(ctx, rest)
	return err
}
