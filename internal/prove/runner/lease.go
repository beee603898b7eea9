package runner

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

func (w *world) leases() dynamic.ResourceInterface {
	return w.cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(w.namespace)
}

// holders returns the holders of the leases in the namespace, by the names of the leases. A lease without a holder has the holder "".
func (w *world) holders(ctx context.Context) (map[string]string, error) {
	all, err := w.leases().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	holders := map[string]string{}
	for _, lease := range all.Items {
		holders[lease.GetName()] = holderOf(&lease)
	}
	return holders, nil
}

func holderOf(lease *unstructured.Unstructured) string {
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return holder
}

// freeLeases takes leases from these holders, which have ended, as if they had expired. Nothing else of a Lease is changed: operators also
// store data in its annotations. Another instance that acquires a lease in the meantime keeps it.
func (w *world) freeLeases(ctx context.Context, holders map[string]string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		all, err := w.leases().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range all.Items {
			lease := &all.Items[i]
			if holder := holderOf(lease); holder == "" || holder != holders[lease.GetName()] {
				continue
			}
			_, err := w.cluster.Merge(ctx, lease, map[string]any{
				"metadata": map[string]any{"resourceVersion": lease.GetResourceVersion()}, "spec": map[string]any{"holderIdentity": nil},
			})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// handOver frees the leases of instances that have ended, and waits until another instance holds them: until then, no instance works.
func (w *world) handOver(ctx context.Context, holders map[string]string) error {
	if err := w.freeLeases(ctx, holders); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scaled(timing.newLeader, w.Witness.Slowness()))
	defer cancel()
	tick := time.NewTicker(timing.lookForLeader)
	defer tick.Stop()
	for {
		now, err := w.holders(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		waits := false
		for name, holder := range holders {
			_, exists := now[name]
			waits = waits || holder != "" && exists && now[name] == ""
		}
		if !waits {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // nobody wants it any more
		case <-tick.C:
		}
	}
}
