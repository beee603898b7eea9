package operators

import (
	"context"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the loop that watches Apps was written by hand, and ends with its first watch. From then on no
// change of an App is seen.
var watchEnds = Operator{
	Name:  "watch-ends",
	About: "does not restart its watch after it has ended",
	Model: "a watch that is not restarted, in operators with their own watch loops",
	Class: finding.Unobserved, Property: finding.SameState, Also: []finding.Property{finding.SameFresh, finding.NothingLeft},
	Both:  "it misses whatever comes after the end of the watch: a change or a deletion",
	Needs: []Need{Change, Cut}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &loopingApp{wholeApp: wholeApp{m.GetClient()}, live: m.GetAPIReader(), found: make(chan event.GenericEvent)}
		var err error
		if r.watching, err = client.NewWithWatch(m.GetConfig(), client.Options{Scheme: m.GetScheme()}); err != nil {
			return err
		}
		if err := m.Add(manager.RunnableFunc(r.loop)); err != nil {
			return err
		}
		b := ctrl.NewControllerManagedBy(m).Named("watch-ends").
			WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
			WatchesRawSource(source.Channel(r.found, &handler.EnqueueRequestForObject{}))
		for _, kind := range appKinds() {
			b = b.Watches(kind, handler.EnqueueRequestForOwner(m.GetScheme(), m.GetRESTMapper(), &api.App{}, handler.OnlyControllerOwner()))
		}
		return b.Complete(reconcile.Func(r.find))
	},
}

type loopingApp struct {
	wholeApp
	live     client.Reader
	watching client.WithWatch
	found    chan event.GenericEvent
}

func (r *loopingApp) find(ctx context.Context, of ctrl.Request) (ctrl.Result, error) {
	app := &api.App{}
	if err := r.live.Get(ctx, of.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.Reconcile(ctx, app)
}

// loop tells of all Apps that there are, and of those that change.
func (r *loopingApp) loop(ctx context.Context) error {
	changes, err := r.watching.Watch(ctx, &api.AppList{})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		app, is := change.Object.(*api.App)
		if !is {
			continue
		}
		select {
		case r.found <- event.GenericEvent{Object: app}:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
