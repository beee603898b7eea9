package up

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/internal/core/plan"
)

// claim is a Lease that only one process holds for a project in a cluster, so that two working copies of a project, or two people, do not change
// and remove each other's objects. A process that was killed loses it after timing.claim.
type claim struct {
	client  kubernetes.Interface
	project string
	lock    *resourcelock.LeaseLock
	cancel  context.CancelFunc
	ended   chan struct{}
	// held is closed when this process has the Lease. rivals receives the holder of the Lease if that is another process.
	held   chan struct{}
	first  sync.Once
	rivals chan string
}

// claimNamespace is the namespace of the Leases: one that always exists.
const claimNamespace = metav1.NamespaceDefault

// newClaim gets the Lease of a project in a directory of this machine. If another process has it, newClaim waits until it is clear that this
// process is alive, and fails. The caller ends the claim.
func newClaim(ctx context.Context, t *target, project string, f *folder, say func(format string, args ...any)) (*claim, error) {
	client, err := kubernetes.NewForConfig(t.config)
	if err != nil {
		return nil, err
	}
	holder, err := f.holder()
	if err != nil {
		return nil, err
	}
	c := &claim{client: client, project: project, ended: make(chan struct{}), held: make(chan struct{}), rivals: make(chan string, 1)}
	c.lock = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: claimNamespace, Name: "operon-up-" + project}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: holder}, Labels: map[string]string{plan.ManagedByLabel: manager},
	}
	if _, _, err := c.lock.Get(ctx); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the Lease %s, which shows whether the project runs already: %w", c.lock.Describe(), err)
	}
	var background context.Context
	background, c.cancel = context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	if err := c.keep(background); err != nil {
		return nil, err
	}
	if err := c.await(ctx, t.title, say); err != nil {
		c.end(ctx)
		return nil, err
	}
	return c, nil
}

// keep asks for the Lease and renews it in the background until ctx ends. If a renewal is late because the cluster is busy, it is asked for again.
func (c *claim) keep(ctx context.Context) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.lock, LeaseDuration: timing.claim, RenewDeadline: timing.claimRenewal, RetryPeriod: timing.claimRetry, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}, OnNewLeader: c.seen},
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(c.ended)
		for ctx.Err() == nil {
			elector.Run(ctx)
		}
	}()
	return nil
}

// seen is called with each holder of the Lease. One that is empty has given it up.
func (c *claim) seen(holder string) {
	switch holder {
	case "":
	case c.lock.Identity():
		c.first.Do(func() { close(c.held) })
	default:
		select {
		case c.rivals <- holder:
		default:
		}
	}
}

// await waits until this process has the Lease. It fails as soon as another process renews it.
func (c *claim) await(ctx context.Context, cluster string, say func(format string, args ...any)) error {
	limit := time.NewTimer(timing.claimUnanswered)
	defer limit.Stop()
	look := time.NewTicker(timing.claimRetry / 2)
	defer look.Stop()
	var other string
	var renewed time.Time // by the other process, when that was looked at first
	problem := fmt.Errorf("the Lease %s could not be written within %s: creating and updating Leases has to be allowed", c.lock.Describe(), timing.claimUnanswered)
	for {
		select {
		case <-c.held:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return problem
		case <-look.C:
			at := c.renewal(ctx, other)
			switch {
			case renewed.IsZero():
				renewed = at
			case !at.IsZero() && !at.Equal(renewed):
				return problem
			}
		case rival := <-c.rivals:
			problem, other, renewed = c.rivalry(rival, cluster), rival, time.Time{}
			limit.Reset(timing.claimExpired)
			say("%s was in use by %s; waiting up to %s to see whether it still is", c.project, shown(rival), timing.claimExpired)
		}
	}
}

// renewal returns when another process renewed the Lease last, or the zero time if it does not hold it, or the Lease cannot be read now.
func (c *claim) renewal(ctx context.Context, holder string) time.Time {
	if holder == "" {
		return time.Time{}
	}
	lease, err := c.client.CoordinationV1().Leases(claimNamespace).Get(ctx, c.lock.LeaseMeta.Name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != holder || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}

// rivalError is the error of a project that another process runs.
type rivalError struct{ error }

func (c *claim) rivalry(rival, cluster string) error {
	return rivalError{fmt.Errorf("`operon up`, `down` or `test` of %s (machine:directory) runs the project %s in %s: stop it first, choose another cluster, or rename one of the projects", shown(rival), c.project, cluster)}
}

// holder returns the name of the holder of claims: where the project is, and a number, because machines and containers may have the same name.
func (f *folder) holder() (string, error) {
	machine, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the name of this machine: %w", err)
	}
	number, err := os.ReadFile(f.number())
	if errors.Is(err, fs.ErrNotExist) {
		number = []byte(rand.Text()[:8])
		err = writeFile(f.number(), number)
	}
	return machine + ":" + f.project + "#" + string(number), err
}

// shown returns the name of a holder without its number.
func shown(holder string) string {
	if at := strings.LastIndex(holder, "#"); at >= 0 {
		return holder[:at]
	}
	return holder
}

// taken reports whether ctx ended because another process has taken the Lease. What is in the cluster is its own then.
func taken(ctx context.Context) bool {
	_, is := errors.AsType[rivalError](context.Cause(ctx))
	return is
}

// watch ends ctx if another process takes the Lease, for example while this machine was suspended. The Lease is not asked for again.
func (c *claim) watch(ctx context.Context, cluster string, lost context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
	case rival := <-c.rivals:
		c.cancel()
		lost(c.rivalry(rival, cluster))
	}
}

// end gives the Lease up and removes it. If that fails, for example because the cluster was stopped, the Lease has no effect after timing.claim.
func (c *claim) end(ctx context.Context) {
	c.cancel()
	<-c.ended
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.giveUp)
	defer cancel()
	leases := c.client.CoordinationV1().Leases(claimNamespace)
	lease, err := leases.Get(ctx, c.lock.LeaseMeta.Name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
		return
	}
	_ = leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
}
