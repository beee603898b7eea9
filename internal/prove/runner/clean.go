package runner

import (
	"context"
	"fmt"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// folderOf returns the directory with the files of the world's instances.
func (w *world) folderOf() string { return filepath.Join(w.Folder, w.namespace) }

// clean removes a world and its objects. It removes all finalizers, because the operator that would
// handle them no longer runs.
func (w *world) clean(elsewhere []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(context.Background(), timing.cleaningTimeout)
	defer cancel()
	if w.fails() {
		if err := w.heal(ctx); err != nil { // pods on a lost node cannot be deleted
			return err
		}
	}
	if err := w.removeAll(ctx, elsewhere); err != nil {
		return err
	}
	if w.Namespace != "" {
		return w.empty(ctx)
	}
	if w.Disposable && !occupies(w.scene.State()) {
		return nil
	}
	if err := w.release(ctx); err != nil {
		return err
	}
	namespaces := w.cluster.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	return namespaces.Delete(ctx, w.namespace, metav1.DeleteOptions{}) // this takes some time but needs no further requests
}

// manyPods is the number of pods from which on a world is removed although the cluster is disposable: nodes run a limited number.
const manyPods = 20

// occupies reports whether the pods of a world would leave the nodes no room for those of the next ones.
func occupies(objects []*unstructured.Unstructured) bool {
	pods := 0
	for _, object := range objects {
		if !isPod(object) {
			continue
		}
		if pods++; pods >= manyPods || requestsResources(object) {
			return true
		}
	}
	return false
}

// requestsResources reports whether a pod requests resources of its node.
func requestsResources(pod *unstructured.Unstructured) bool {
	if of, _, _ := unstructured.NestedMap(pod.Object, "spec", "resources", "requests"); len(of) > 0 {
		return true
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", list)
		for _, one := range containers {
			container, _ := one.(map[string]any)
			if of, _, _ := unstructured.NestedMap(container, "resources", "requests"); len(of) > 0 {
				return true
			}
		}
	}
	return false
}

// release removes the finalizers of all objects in the world.
func (w *world) release(ctx context.Context) error {
	for _, object := range w.scene.State() {
		if len(object.GetFinalizers()) > 0 {
			if err := w.strip(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// strip removes an object's finalizers.
func (w *world) strip(ctx context.Context, object *unstructured.Unstructured) error {
	_, err := w.cluster.Merge(ctx, object, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remove deletes an object and removes its finalizers.
func (w *world) remove(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := w.cluster.Objects(object)
	if err != nil {
		return err
	}
	background, now := metav1.DeletePropagationBackground, int64(0)
	err = objects.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background, GracePeriodSeconds: &now})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(object.GetFinalizers()) == 0 {
		return nil
	}
	return w.strip(ctx, object)
}

// empty removes all objects of the world from a namespace that is not deleted.
func (w *world) empty(ctx context.Context) error {
	for {
		left := 0
		changed := w.scene.Changed()
		for _, object := range w.scene.State() {
			if w.first[string(object.GetUID())] {
				continue
			}
			left++
			if err := w.remove(ctx, object); err != nil {
				return err
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("namespace %s: %d objects are left", w.namespace, left)
		}
	}
}
