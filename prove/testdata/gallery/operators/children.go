package operators

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// build begins a controller for a kind and its children.
func build(m ctrl.Manager, name string, kind client.Object, children ...client.Object) *ctrl.Builder {
	b := ctrl.NewControllerManagedBy(m).Named(name).For(kind).WithOptions(controller.Options{SkipNameValidation: ptr.To(true)})
	for _, child := range children {
		b = b.Owns(child)
	}
	return b
}

// run adds a controller to a manager whose reconciler gets the object.
func run[T client.Object](m ctrl.Manager, name string, r reconcile.ObjectReconciler[T], kind T, children ...client.Object) error {
	return build(m, name, kind, children...).Complete(reconcile.AsReconciler(m.GetClient(), r))
}

// labels of all children of an object.
func labels(owner client.Object) map[string]string {
	return map[string]string{"app.kubernetes.io/name": owner.GetName(), "app.kubernetes.io/managed-by": "gallery"}
}

// named is the metadata of a child: of the owner's name and a suffix.
func named(owner client.Object, suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName() + suffix, Labels: labels(owner)}
}

// keep creates a child, or makes it what fill says. It does not take what is not the owner's.
func keep(ctx context.Context, c client.Client, owner, child client.Object, fill func()) error {
	_, err := controllerutil.CreateOrUpdate(ctx, c, child, func() error {
		if child.GetResourceVersion() != "" && !metav1.IsControlledBy(child, owner) {
			return fmt.Errorf("%s is there, and does not belong to %s", child.GetName(), owner.GetName())
		}
		child.SetLabels(with(child.GetLabels(), labels(owner)))
		fill()
		return controllerutil.SetControllerReference(owner, child, c.Scheme())
	})
	return err
}

// drop deletes a child, where it is there and the owner's.
func drop(ctx context.Context, c client.Client, owner, child client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(child), child)
	if err != nil || !metav1.IsControlledBy(child, owner) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(c.Delete(ctx, child, client.Preconditions{UID: ptr.To(child.GetUID())}))
}

// with returns a map with the entries of both, the second's where they differ.
func with(some, more map[string]string) map[string]string {
	all := maps.Clone(some)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	return all
}

// hash is short, and the same for the same content.
func hash(content any) string {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // maps of strings and bytes have a JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:5])
}

// going tells that an object is being deleted.
func going(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() }
