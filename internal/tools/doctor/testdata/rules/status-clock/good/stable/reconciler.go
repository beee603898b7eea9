// Package stable has a reconciler that writes values that are derived from the time, and stay the same for a while.
package stable

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type schedule struct{ every time.Duration }

func (s schedule) next(t time.Time) time.Time { return t.Truncate(s.every).Add(s.every) }

// Backup is a kind.
type Backup struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status struct {
		NextRun metav1.Time
		Expired bool
		Day     string
		Hour    metav1.Time
	}
}

// DeepCopyObject copies it.
func (b *Backup) DeepCopyObject() runtime.Object {
	twin := *b
	return &twin
}

// Report is not an object of a cluster.
type Report struct{ Status struct{ At time.Time } }

// Reconciler keeps Backups.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	backup := &Backup{}
	if err := r.Get(ctx, req.NamespacedName, backup); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	backup.Status.NextRun = metav1.NewTime(schedule{time.Hour}.next(time.Now()))
	backup.Status.Expired = time.Now().After(backup.CreationTimestamp.Add(time.Hour))
	backup.Status.Day = time.Now().Format(time.DateOnly)
	backup.Status.Hour = metav1.NewTime(time.Now().Truncate(time.Hour))
	report := Report{}
	report.Status.At = time.Now()
	return ctrl.Result{}, r.Status().Update(ctx, backup)
}
