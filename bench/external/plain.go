package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/operon-framework/operon/internal/testing/box"
)

// plain creates cells and then writes their IDs to the status, with one write for all cells of an object: the minimum that
// works without failures. If it is killed between the two, it creates the cells again.
type plain struct {
	client.Client
	rack *rack
	poll time.Duration
}

const plainFinalizer = "bench.operon.dev/cells"

func runPlain(ctx context.Context, config *rest.Config, namespace string, r *rack, poll time.Duration) error {
	scheme := runtime.NewScheme()
	if err := box.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // this process starts it twice
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&box.Box{}).Complete(&plain{Client: manager.GetClient(), rack: r, poll: poll})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// Reconcile implements reconcile.Reconciler.
func (p *plain) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := &box.Box{}
	if err := p.Get(ctx, request.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if b.DeletionTimestamp != nil {
		for _, record := range b.Status.Seen {
			_, id, _ := strings.Cut(record, "=")
			p.rack.remove(id)
		}
		controllerutil.RemoveFinalizer(b, plainFinalizer)
		return ctrl.Result{}, p.Update(ctx, b)
	}
	if controllerutil.AddFinalizer(b, plainFinalizer) {
		if err := p.Update(ctx, b); err != nil {
			return ctrl.Result{}, err
		}
	}
	if p.create(b) {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Made", Message: "all are made"})
		if err := p.Status().Update(ctx, b); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: p.poll}, nil
}

// create creates the cells that are not recorded or were deleted, and reports whether there is anything to record.
func (p *plain) create(b *box.Box) (changed bool) {
	ids := map[string]string{}
	for _, record := range b.Status.Seen {
		name, id, _ := strings.Cut(record, "=")
		ids[name] = id
	}
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Data)) {
		if id, ok := ids[name]; ok {
			if _, there := p.rack.look(id); there {
				continue
			}
		}
		ids[name], changed = p.rack.create(cell{size: b.Spec.Data[name]}), true
	}
	b.Status.Seen = nil
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		b.Status.Seen = append(b.Status.Seen, name+"="+ids[name])
	}
	return changed
}
