package operators

import (
	"context"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: that a Job has finished is learnt from the event in which it becomes so, and kept in memory. An
// operator that was not there then, or whose watch began anew, waits for ever.
var edgeTriggered = Operator{
	Name:  "edge-triggered",
	About: "needs to see the event in which the Job finishes",
	Model: "Sieve, unobserved state (first called observability gap)",
	Class: finding.Unobserved, Property: finding.SameState, Also: []finding.Property{finding.Truthful},
	Both:  "the status still reports a running Job",
	Needs: []Need{Kill}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &edgeBackup{Client: m.GetClient(), finished: map[types.UID]string{}}
		return build(m, "edge-triggered", &api.Backup{}).
			Watches(&batchv1.Job{}, handler.Funcs{UpdateFunc: r.updated}).
			Complete(reconcile.AsReconciler(m.GetClient(), r))
	},
}

type edgeBackup struct {
	client.Client
	mu       sync.Mutex
	finished map[types.UID]string
}

func (r *edgeBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	if going(backup) {
		return ctrl.Result{}, nil
	}
	job := &batchv1.Job{}
	err := r.Get(ctx, client.ObjectKeyFromObject(backup), job)
	if apierrors.IsNotFound(err) {
		if job, err = newJob(r, backup); err != nil {
			return ctrl.Result{}, err
		}
		job.Name = backup.Name
		err = r.Create(ctx, job)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.mu.Lock()
	phase := r.finished[job.UID]
	r.mu.Unlock()
	if phase == "" {
		phase = running
	}
	return ctrl.Result{}, reportBackup(ctx, r, backup, job.Name, phase)
}

// updated notes that a Job has just ended, and has its Backup looked at.
func (r *edgeBackup) updated(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := phaseOf(e.ObjectOld.(*batchv1.Job)), phaseOf(e.ObjectNew.(*batchv1.Job))
	if before == after || after != succeeded && after != failed {
		return
	}
	r.mu.Lock()
	r.finished[e.ObjectNew.GetUID()] = after
	r.mu.Unlock()
	queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
}
