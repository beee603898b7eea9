package operators

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: every look at the App, several times in a second, is an event of its own.
var eventFlood = Operator{
	Name:  "event-flood",
	About: "emits a new event each time it looks at an App",
	Model: "unbounded growth of events",
	Class: finding.Leak, Property: finding.Bounded, Also: []finding.Property{finding.Silent},
	Both:  "it never stops emitting events",
	Needs: []Need{Create}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "event-flood", &talkingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type talkingApp struct{ client.Client }

func (r *talkingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	whole := wholeApp{r.Client}
	if result, err := whole.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	now := metav1.Now()
	looked := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: app.Namespace, GenerateName: app.Name + "-"},
		InvolvedObject: corev1.ObjectReference{APIVersion: api.Version.String(), Kind: "App", Namespace: app.Namespace, Name: app.Name, UID: app.UID},
		Type:           corev1.EventTypeNormal, Reason: "Looked", Message: "looked at " + now.String(),
		Source: corev1.EventSource{Component: "event-flood"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if err := r.Create(ctx, looked); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: 200 * time.Millisecond}, nil
}
