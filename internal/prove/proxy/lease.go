package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/operon-framework/operon/internal/prove/fault"
)

// OtherHolder is the holder of a lease that an operator has lost because of a fault.
const OtherHolder = "operon-prove-other-instance"

// leases contains the leases that instances hold, and the number of leases taken from them.
type leases struct {
	client typedcoordinationv1.LeasesGetter // nil: no lease can be taken

	mu    sync.Mutex
	held  map[*Instance]lease
	asked map[*Instance]time.Time // the first request for a lease
	taken int
}

// lease is the namespace and name of a lease.
type lease struct{ namespace, name string }

func newLeases(admin *rest.Config) (*leases, error) {
	l := &leases{held: map[*Instance]lease{}, asked: map[*Instance]time.Time{}}
	if admin == nil {
		return l, nil
	}
	client, err := typedcoordinationv1.NewForConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("the administrator's connection to the API server: %w", err)
	}
	l.client = client
	return l, nil
}

// ask records that an instance requests a lease.
func (l *leases) ask(by *Instance, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[by].IsZero() {
		l.asked[by] = at
	}
}

// Electing returns when an instance that runs first requested a lease, if it has not written one since: until it holds a lease, it does not work. It
// returns the zero time if there is no such instance.
func (p *Proxy) Electing() time.Time {
	p.leases.mu.Lock()
	defer p.leases.mu.Unlock()
	var since time.Time
	for by, at := range p.leases.asked {
		if _, held := p.leases.held[by]; !held && !by.gone() && at.After(since) {
			since = at
		}
	}
	return since
}

// note records the lease that an instance wrote last.
func (l *leases) note(x *exchange) {
	if x.sender == nil || x.Resource != "leases" || x.Verb == "delete" || x.Served >= 300 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[x.sender] = lease{x.Namespace, x.Name}
}

// errNoLease is recorded if a fault has to take the lease of an instance that does not hold one.
var errNoLease = errors.New("the instance holds no lease")

// lose gives the lease of an instance to another holder, as if another instance took it:
// renewals result in conflicts, and reads show the other holder. The other holder renews it until the instance is
// revoked or the duration of the fault is over. Then it releases the lease, like an instance that stops.
func (p *Proxy) lose(ctx context.Context, i *Instance, f fault.Fault) error {
	p.leases.mu.Lock()
	of, ok := p.leases.held[i]
	p.leases.mu.Unlock()
	if !ok {
		return errNoLease
	}
	if err := p.leases.take(ctx, of); err != nil {
		return fmt.Errorf("take the lease: %w", err)
	}
	p.leases.count(1)
	p.inside.Add(1)
	go func() {
		defer p.inside.Done()
		p.keep(i, of, f.For.Duration)
		p.leases.count(-1)
		p.meter.change(nil)
	}()
	return nil
}

// keep renews a taken lease for a time, and then releases it.
func (p *Proxy) keep(i *Instance, of lease, while time.Duration) {
	const renewal = time.Second
	over := time.After(while)
	for held := true; held; {
		select {
		case <-time.After(renewal):
			_ = p.leases.change(p.alive, of, renew) // if this fails, another client holds the lease, or it was deleted
			continue
		case <-i.alive.Done():
		case <-over:
		case <-p.alive.Done():
		}
		held = false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.alive), timing.grace)
	defer cancel()
	_ = p.leases.change(ctx, of, giveUp) // as above
}

func (l *leases) count(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken += more
}

// any reports whether a lease is taken.
func (l *leases) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken > 0
}

// change changes a lease. It retries if another client changed it concurrently.
func (l *leases) change(ctx context.Context, of lease, edit func(*coordinationv1.LeaseSpec)) error {
	client := l.client.Leases(of.namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := client.Get(ctx, of.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(&found.Spec)
		_, err = client.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
}

// take takes a lease, regardless of concurrent writes of its holder: a holder may renew it more often than a busy API server
// can execute two requests.
func (l *leases) take(ctx context.Context, of lease) error {
	client := l.client.Leases(of.namespace)
	found, err := client.Get(ctx, of.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := metav1.NowMicro()
	transitions := int32(1)
	if found.Spec.LeaseTransitions != nil {
		transitions += *found.Spec.LeaseTransitions
	}
	spec := coordinationv1.LeaseSpec{HolderIdentity: new(OtherHolder), AcquireTime: &now, RenewTime: &now, LeaseTransitions: &transitions}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, of.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func renew(spec *coordinationv1.LeaseSpec) {
	if isOther(spec) {
		spec.RenewTime = new(metav1.NowMicro())
	}
}

// giveUp releases a lease as a leader does when it stops.
func giveUp(spec *coordinationv1.LeaseSpec) {
	if isOther(spec) {
		spec.HolderIdentity, spec.LeaseDurationSeconds, spec.RenewTime = new(""), new(int32(1)), new(metav1.NowMicro())
	}
}

func isOther(spec *coordinationv1.LeaseSpec) bool {
	return spec.HolderIdentity != nil && *spec.HolderIdentity == OtherHolder
}
