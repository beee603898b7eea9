package proxy_test

import (
	"context"
	"fmt"
	"testing"

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

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/local/localtest"
)

// careless creates a ConfigMap with a generated name for each Secret, unless its cache has one.
type careless struct {
	client.Client
	// passed receives a value after each reconcile of the Secret.
	passed chan struct{}
}

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
	if len(children.Items) == 0 {
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "child-", Namespace: of.Namespace, Labels: map[string]string{"of": of.Name}}}
		if err := c.Create(ctx, child); err != nil {
			return ctrl.Result{}, err
		}
	}
	c.passed <- struct{}{}
	return ctrl.Result{}, nil
}

// runCareless runs the operator behind the proxy until the test ends. It returns the operator with a client that reads its
// cache, and a client that reads the cluster directly.
func (s *stand) runCareless() (c careless, direct client.Client) {
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
	c = careless{manager.GetClient(), make(chan struct{}, 10)}
	s.must(ctrl.NewControllerManagedBy(manager).For(&corev1.Secret{}).Owns(&corev1.ConfigMap{}).Complete(reconcile.Reconciler(c)))
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	s.Cleanup(func() {
		stop()
		s.must(<-ended)
	})
	direct, err = client.New(s.Env.Config, client.Options{Scheme: scheme})
	s.must(err)
	return c, direct
}

// An operator that trusts its cache creates two objects instead of one if the cache is stale when it reconciles again, which
// operators do all the time. It creates one object if the cache is current.
func TestAStaleReadIsFound(t *testing.T) {
	t.Parallel()
	made := fault.Match{Verb: "create", Resource: "configmaps"}
	for want, faults := range map[int][]fault.Fault{
		1: nil,
		2: {{Kind: fault.Hold, View: "configmaps", On: made, Quiet: still, For: long}},
	} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, faults...)
			operator, direct := s.runCareless()
			quiet := s.busy() // keeps the view frozen
			defer quiet()
			parent := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "parent", Namespace: s.Namespace}}
			s.must(direct.Create(t.Context(), parent))
			s.comes("the first look", operator.passed)
			if faults == nil {
				s.children(operator, 1)
			}
			parent.Labels = map[string]string{"look": "again"}
			s.must(direct.Update(t.Context(), parent))
			s.comes("the second look", operator.passed)
			quiet()
			s.children(operator, want)
			s.children(direct, want)
		})
	}
}

// children waits until a reader shows a number of children.
func (s *stand) children(reader client.Reader, want int) {
	s.Helper()
	localtest.Eventually(s, fmt.Sprintf("%d children", want), func(ctx context.Context) error {
		var children corev1.ConfigMapList
		if err := reader.List(ctx, &children, client.InNamespace(s.Namespace), client.MatchingLabels{"of": "parent"}); err != nil {
			return err
		}
		if len(children.Items) != want {
			return fmt.Errorf("there are %d", len(children.Items))
		}
		return nil
	})
}
