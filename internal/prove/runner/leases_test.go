package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runner"
)

// A killed operator does not wait for its own lease when it starts again, and finds the data that it stored in another Lease.
func TestKilledWithLeases(t *testing.T) {
	t.Parallel()
	findsLeases(t, func(operator runner.Operator) *runner.Stage { return newStage(t, operator) }, "leader held by \"\", record of boxes held by \"\", ")
}

// findsLeases checks what leases an operator finds that starts again after it was killed.
func findsLeases(t *testing.T, open func(runner.Operator) *runner.Stage, want string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	stage := open(runner.Function(func(ctx context.Context, access runner.Access) error {
		leases, err := leasesOf(ctx, access)
		if err != nil {
			return err
		}
		mu.Lock()
		all = append(all, leases)
		mu.Unlock()
		return boxOperator{}.run(ctx, access)
	}))
	checkLife(t, carry(t, stage, life, fault.Fault{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Resource: "configmaps"}}))
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(all, []string{"", want}) {
		t.Errorf("the instances find the leases %q, want none and then %q", all, want)
	}
}

// During an overlap, the second instance leads only after the first one has stopped, also if that keeps its lease, as kubebuilder's
// operators do.
func TestOverlapWithLeaderElection(t *testing.T) {
	t.Parallel()
	var leaders, led atomic.Int32
	stage := newStage(t, runner.Function(func(ctx context.Context, access runner.Access) error {
		client, err := kubernetes.NewForConfig(access.Config)
		if err != nil {
			return err
		}
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, access.Namespace, "leader", client.CoreV1(), client.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: access.Kubeconfig})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, 1)
		lead := func(ctx context.Context) {
			led.Add(1)
			if leaders.Add(1) > 1 {
				t.Error("two instances lead")
			}
			err := boxOperator{}.run(ctx, access)
			leaders.Add(-1)
			ended <- err
			cancel()
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: func() {}},
		})
		if err != nil {
			return err
		}
		elector.Run(ctx) // does not wait for lead
		select {
		case err := <-ended:
			return err
		default:
			return ctx.Err()
		}
	}))
	checkLife(t, carry(t, stage, life, fault.Fault{Kind: fault.Overlap, Moment: fault.Effect, On: fault.Match{Verb: "create", Resource: "configmaps"}}))
	if led.Load() != 2 {
		t.Errorf("%d instances have led, want both", led.Load())
	}
}

// leasesOf describes the Leases in the namespace. If there are none, it creates one that is held and one that has data.
func leasesOf(ctx context.Context, access runner.Access) (string, error) {
	client, err := kubernetes.NewForConfig(access.Config)
	if err != nil {
		return "", err
	}
	leases := client.CoordinationV1().Leases(access.Namespace)
	all, err := leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	text := ""
	for _, one := range all.Items {
		text += fmt.Sprintf("%s%s held by %q, ", one.Name, one.Annotations["of"], ptr.Deref(one.Spec.HolderIdentity, ""))
	}
	if len(all.Items) > 0 {
		return text, nil
	}
	for _, one := range []*coordinationv1.Lease{
		{ObjectMeta: metav1.ObjectMeta{Name: "leader"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("first"), LeaseDurationSeconds: new(int32(15))}},
		{ObjectMeta: metav1.ObjectMeta{Name: "record", Annotations: map[string]string{"of": " of boxes"}}},
	} {
		if _, err := leases.Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return "", err
		}
	}
	return "", nil
}
