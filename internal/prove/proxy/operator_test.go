package proxy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// copies composes a ConfigMap with the Box's name and data.
type copies struct{}

func (copies) Compose(_ context.Context, b *box.Box, out *operon.Composition) error {
	out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: b.Spec.Data})
	return nil
}

// operated is a stand with an operator behind the proxy. The operator is restarted when it is
// killed.
type operated struct {
	*stand
	client client.Client
	kill   chan struct{}
}

func newOperated(t *testing.T, faults ...fault.Fault) *operated {
	t.Helper()
	o := &operated{kill: make(chan struct{}, 10)}
	o.stand = standWith(t, proxy.Options{Kill: func() { o.kill <- struct{}{} }}, faults...)
	o.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	scheme := runtime.NewScheme()
	o.must(clientgoscheme.AddToScheme(scheme))
	o.must(box.AddToScheme(scheme))
	var err error
	o.client, err = client.New(o.Env.Config, client.Options{Scheme: scheme})
	o.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
	})
	return o
}

// run runs the operator until ctx ends, and restarts it when it is killed.
func (o *operated) run(ctx context.Context) error {
	for ctx.Err() == nil {
		alive, end := context.WithCancel(ctx)
		go func() {
			select {
			case <-o.kill:
				end()
			case <-alive.Done():
			}
		}()
		err := operon.Run(alive, "box-operator", o.Proxy.Config(), operon.Config{Namespace: o.Namespace}, operon.API(box.AddToScheme), operon.Manage(copies{}))
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

// ready waits until the Box is ready and its ConfigMap has the data of the Box.
func (o *operated) ready(b *box.Box) {
	o.Helper()
	localtest.Eventually(o, "Box and ConfigMap", func(ctx context.Context) error {
		child := &corev1.ConfigMap{}
		if err := o.client.Get(ctx, client.ObjectKeyFromObject(b), child); err != nil {
			return err
		}
		if err := o.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(b.Status.Conditions, "Ready") || b.Status.ObservedGeneration != b.Generation || child.Data["n"] != b.Spec.Data["n"] {
			return fmt.Errorf("status %+v, child %v", b.Status, child.Data)
		}
		return nil
	})
}

// The operator recovers from each fault in one of its writes or watches.
func TestAnOperatorRecovers(t *testing.T) {
	t.Parallel()
	child := fault.Match{Verb: "patch", Resource: "configmaps"}
	status := fault.Match{Verb: "patch", Resource: "boxes/status"}
	var faults []fault.Fault
	for _, kind := range []fault.Kind{fault.Conflict, fault.ServerError, fault.Unavailable, fault.TimeOut, fault.Throttle, fault.Cut, fault.Kill} {
		faults = append(faults, fault.Fault{Kind: kind, Moment: fault.Before, On: child}, fault.Fault{Kind: kind, Moment: fault.Effect, On: child},
			fault.Fault{Kind: kind, Moment: fault.Effect, On: status})
	}
	faults = append(faults,
		fault.Fault{Kind: fault.AlreadyExists, On: child}, fault.Fault{Kind: fault.NotFound, On: child},
		fault.Fault{Kind: fault.Kill, Moment: fault.Answer, On: child}, fault.Fault{Kind: fault.Cut, Moment: fault.Answer, On: child},
		fault.Fault{Kind: fault.Delay, Moment: fault.Effect, For: metav1.Duration{Duration: time.Second}, On: child},
		fault.Fault{Kind: fault.CutWatch, Events: 1, On: fault.Match{Verb: "watch", Resource: "boxes"}},
		fault.Fault{Kind: fault.CutWatch, Events: 2, On: fault.Match{Verb: "watch", Resource: "configmaps"}},
	)
	for _, f := range faults {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			newOperated(t, f).comesThrough()
		})
	}
}

func (o *operated) comesThrough() {
	o.Helper()
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "box", Namespace: o.Namespace}, Spec: box.BoxSpec{Data: map[string]string{"n": "1"}}}
	o.must(o.client.Create(o.Context(), b))
	o.ready(b)
	before := b.DeepCopyObject().(*box.Box)
	b.Spec.Data["n"] = "2"
	o.must(o.client.Patch(o.Context(), b, client.MergeFrom(before)))
	o.ready(b)
	localtest.Eventually(o, "the fault", func(context.Context) error { // the watch may show the change later
		if left := o.script.Pending(); left != nil {
			return fmt.Errorf("%v did not strike", left)
		}
		return nil
	})
}
