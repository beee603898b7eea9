package proxy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove/fault"
)

// careless makes a ConfigMap with a generated name for each Secret, unless its cache has one. It is
// run twice for each Secret, as operators are all the time.
type careless struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (c careless) Reconcile(ctx context.Context, of ctrl.Request) (ctrl.Result, error) {
	parent := &corev1.Secret{}
	if err := c.Get(ctx, of.NamespacedName, parent); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var children corev1.ConfigMapList
	if err := c.List(ctx, &children, client.InNamespace(of.Namespace), client.MatchingLabels{"of": of.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if len(children.Items) > 0 {
		return ctrl.Result{}, nil
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "child-", Namespace: of.Namespace, Labels: map[string]string{"of": of.Name}}}
	return ctrl.Result{RequeueAfter: 1500 * time.Millisecond}, c.Create(ctx, child)
}

// runCareless runs the operator behind the proxy until the test ends.
func (s *stand) runCareless() client.Client {
	s.Helper()
	scheme := runtime.NewScheme()
	s.must(clientgoscheme.AddToScheme(scheme))
	i, err := s.NewInstance("")
	s.must(err)
	manager, err := ctrl.NewManager(i.Config(), ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
	})
	s.must(err)
	s.must(ctrl.NewControllerManagedBy(manager).For(&corev1.Secret{}).Owns(&corev1.ConfigMap{}).Complete(reconcile.Reconciler(careless{manager.GetClient()})))
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	s.Cleanup(func() {
		stop()
		s.must(<-ended)
	})
	direct, err := client.New(s.Env.Config, client.Options{Scheme: scheme})
	s.must(err)
	return direct
}

// An operator that trusts its cache makes two of one where the cache is behind, and one where it
// is not.
func TestAStaleReadIsFound(t *testing.T) {
	t.Parallel()
	made := fault.Match{Verb: "create", Resource: "configmaps"}
	for want, faults := range map[int][]fault.Fault{
		1: nil,
		2: {{Kind: fault.Hold, View: "configmaps", On: made, Quiet: metav1.Duration{Duration: 4 * time.Second}}}, // longer than until it looks again
	} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, faults...)
			direct := s.runCareless()
			s.must(direct.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "parent", Namespace: s.Namespace}}))
			localtest.Eventually(t, "children, and silence", func(ctx context.Context) error {
				now, _ := s.Activity()
				if now.Disturbed || now.Pending > 0 || time.Since(now.Last) < 3*time.Second || now.Count < int64(want) {
					return fmt.Errorf("the activity is %+v", now)
				}
				return nil
			})
			var children corev1.ConfigMapList
			s.must(direct.List(t.Context(), &children, client.InNamespace(s.Namespace), client.MatchingLabels{"of": "parent"}))
			if len(children.Items) < want || want == 1 && len(children.Items) > 1 {
				t.Errorf("%d children, want %d", len(children.Items), want)
			}
		})
	}
}
