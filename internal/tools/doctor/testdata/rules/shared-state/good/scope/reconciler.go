// Package scope has a reconciler that writes to maps of objects that belong to one reconcile.
package scope

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// App is a kind.
type App struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

// SetLabel sets a label.
func (a *App) SetLabel(key, value string) { a.Labels[key] = value }

// MachineScope holds what one reconcile needs.
type MachineScope struct{ Machine *corev1.Node }

// SetAnnotation sets an annotation.
func (m *MachineScope) SetAnnotation(key, value string) { m.Machine.Annotations[key] = value }

// counts belongs to one reconcile, although the reconciler has a template of it.
type counts struct{ byName map[string]int }

func (c *counts) add(name string) { c.byName[name]++ }

// Reconciler marks Nodes.
type Reconciler struct {
	client.Client
	template *counts
	base     *App
}

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	scope := &MachineScope{Machine: &corev1.Node{}}
	scope.SetAnnotation("seen", req.Name)
	r.base.SetLabel("seen", req.Name)
	own := &counts{byName: map[string]int{}}
	own.add(req.Name)
	return ctrl.Result{}, r.Update(ctx, scope.Machine)
}

// Add adds it to a manager.
func (r *Reconciler) Add(m ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(m).For(&corev1.Node{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(r)
}
