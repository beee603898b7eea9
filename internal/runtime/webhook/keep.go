package webhook

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/runtime/certificate"
)

// maxTurns limits the number of consecutive turns without a pause. Two turns for each decision are usual.
const maxTurns = 20

// The number of writes that are made at once with the same bundle, and the interval of further writes: another client may
// want something else.
const repairs = 10

// keeper is the loop that brings everything to the desired state.
type keeper struct {
	*Server
	source   source
	registry *registry
	limit    *rate.Limiter
	wrote    []byte // the bundle that was written last
	stood    bool   // another process serves instead of this one
	prepared bool   // the desired registrations are known
	recorded bool   // the registrations are in the record
	tidied   bool   // registrations that are no longer wanted were removed
	converts bool   // API servers were observed to send conversion requests
}

// keep runs until life ends, or until the returned function is called, which removes the registrations that no process
// can answer any more.
func (s *Server) keep(life context.Context) (stop func()) {
	k := &keeper{Server: s, source: s.source(), limit: rate.NewLimiter(rate.Every(timing.repairEvery), repairs)}
	k.registry = s.registry()
	ctx, cancel := context.WithCancel(life)
	var running sync.WaitGroup
	running.Go(func() { k.run(ctx) })
	return func() {
		cancel()
		running.Wait()
		k.leave(life)
	}
}

func (s *Server) registry() *registry {
	return &registry{wire: s.Wire, client: s.Client, operator: s.Operator, service: s.Service}
}

func (k *keeper) run(ctx context.Context) {
	pause := timing.firstPause
	for ctx.Err() == nil {
		again, err := k.bring(ctx)
		k.note(ctx, err)
		if err == nil {
			pause = timing.firstPause
			k.wait(ctx, again)
			continue
		}
		k.pause(ctx, pause)
		pause = min(2*pause, timing.lastPause)
	}
}

// leave removes the registrations for this process alone. The conversion of a definition
// stays: without it, objects would be misinterpreted.
func (k *keeper) leave(life context.Context) {
	if k.Service.Name != "" || !k.recorded || k.stood {
		return
	}
	ctx, cancel := context.WithTimeout(life, timing.drain)
	defer cancel()
	own := slices.DeleteFunc(slices.Clone(k.registry.all), func(one registration) bool { return one.id().foreign })
	if err := k.registry.remove(ctx, own, k.occupied); err != nil {
		k.Log.Error(err, "webhooks: the registration could not be removed")
	}
}

// source returns the source of the certificates.
func (s *Server) source() source {
	if s.CertDir != "" {
		return &files{folder: s.CertDir, hosts: s.hosts()}
	}
	kept := &own{issuer: issuer{certificate.Issuer{Times: s.Times, Hosts: s.hosts(), Name: s.Operator}}, store: &memory{}, log: s.Log}
	if s.Service.Name != "" {
		kept.store = newSecret(s.Wire, s.secretKey(), s.Operator)
	}
	return kept
}

// secretKey returns the key of the Secret that all replicas share.
func (s *Server) secretKey() types.NamespacedName {
	return types.NamespacedName{Namespace: s.Service.Namespace, Name: s.Service.Name + "-certificates"}
}

// bring takes turns until there is nothing to do, and returns when to check again.
func (k *keeper) bring(ctx context.Context) (again time.Time, err error) {
	if err := k.prepare(ctx); err != nil {
		return again, err
	}
	for range maxTurns {
		var more bool
		again, more, err = k.turn(ctx)
		if err != nil && !conflicts(err) || err == nil && !more {
			break
		}
	}
	return again, k.tidy(ctx, err)
}

// prepare determines the desired registrations, once, and watches them.
func (k *keeper) prepare(ctx context.Context) (err error) {
	if k.prepared {
		return nil
	}
	if k.registry.all, err = k.registrations(); err != nil {
		return err
	}
	k.prepared = true
	k.watch(ctx)
	return nil
}

// conflicts reports whether another replica or client was faster. This is not a failure: the next turn reads the
// result.
func conflicts(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// turn reads the state, and does one thing.
func (k *keeper) turn(ctx context.Context) (again time.Time, more bool, err error) {
	now := k.Clock.Now()
	found, unread := k.registry.read(ctx) // before the certificates, see read
	current := certificates{again: now.Add(timing.never)}
	if k.serves() {
		carried := func(id string) bool { return unread == nil && k.registry.carried(found, id) }
		current, more, err = k.source.current(ctx, carried, now)
		if current.leaf != nil {
			k.leaf.Store(current.leaf)
		}
		if err != nil || more {
			return again, more, err
		}
	}
	if unread != nil {
		return again, false, unread
	}
	k.remember(found)
	current.again = earlier(current.again, k.see(found, now))
	more, err = k.register(ctx, found, current, now)
	if k.stood && k.Service.Name == "" {
		current.again = now.Add(timing.standBy)
	} else if k.stood {
		current.again = earlier(current.again, now.Add(timing.lookEvery))
	}
	return current.again, more, err
}

// see reports when API servers send conversion requests. It returns when to check again, which may be never.
func (k *keeper) see(found map[ident]*unstructured.Unstructured, now time.Time) (again time.Time) {
	if k.converts {
		return now.Add(timing.never)
	}
	again = now
	for _, one := range k.registry.all {
		d, is := one.(*definition)
		if !is {
			continue
		}
		live := found[d.id()]
		if live == nil || len(d.asked(live)) == 0 {
			d.unconverted = true
			again = now.Add(timing.never) // a change wakes the loop
			continue
		}
		if settled := d.settled(live, now); settled.After(again) {
			again = settled
		}
	}
	if again.After(now) {
		return again
	}
	k.converts = true
	close(k.Server.converts)
	return now.Add(timing.never)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// register writes the registrations that are not as they should be.
func (k *keeper) register(ctx context.Context, found map[ident]*unstructured.Unstructured, current certificates, now time.Time) (bool, error) {
	leads := k.leads()
	if leads {
		if err := k.record(ctx); err != nil {
			return false, err
		}
	}
	k.stood = false
	bundle := certificate.Encode(current.bundle...)
	calm := bytes.Equal(bundle, k.wrote)
	wrote, err := k.registry.write(ctx, turn{
		found: found,
		bundle: func(before []byte) []byte {
			if current.adds {
				return certificate.Encode(with(slices.Clone(current.bundle), before, now)...)
			}
			return bundle
		},
		leads:  leads || k.place.address != "",
		stands: k.stands,
		may:    func() bool { return !calm || k.limit.Allow() },
	})
	if err == nil {
		k.wrote = bundle
	}
	return wrote, err
}

// leads reports whether this process decides what is registered.
func (k *keeper) leads() bool {
	select {
	case <-k.Leads:
		return true
	default:
		return false
	}
}

var errService = errors.New("the webhooks are already served by the in-cluster deployment: stop it, or run this operator without webhooks")

// stands reports whether another process of the operator is registered, and exists: one on the machine of the API server, or an
// instance that converts the objects of a definition.
func (k *keeper) stands(ctx context.Context, one registration, live *unstructured.Unstructured) (bool, error) {
	stands, err := k.occupied(ctx, one.asked(live))
	if d, is := one.(*definition); is && !stands && err == nil {
		stands, err = k.yields(ctx, d, live)
	}
	k.stood = k.stood || stands
	return stands, err
}

// occupied reports whether another process on the machine of the API server is registered, and exists. With a Service for all
// replicas this is never the case.
func (k *keeper) occupied(ctx context.Context, who []asked) (bool, error) {
	if k.Service.Name != "" {
		return false, nil
	}
	for _, one := range who {
		if one.url == "" {
			return false, errService
		}
		address, err := url.Parse(one.url)
		if err == nil && address.Host != k.place.address && loopback(address.Hostname()) && answers(ctx, address.Host) {
			return true, nil
		}
	}
	return false, nil
}

// answers reports whether a process listens at an address.
func answers(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: timing.standBy}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	return err == nil && connection.Close() == nil
}

// wait waits for a point in time, or for a change.
func (k *keeper) wait(ctx context.Context, until time.Time) {
	for ctx.Err() == nil {
		left := until.Sub(k.Clock.Now())
		if left <= 0 {
			return
		}
		timer := k.Clock.NewTimer(min(left, timing.forLong)) // machines sleep, and their timers with them
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-k.wake:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// pause waits for some time after a failure.
func (k *keeper) pause(ctx context.Context, while time.Duration) {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// note reports a failure once, and its end.
func (k *keeper) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	before := k.trouble.Load()
	if err == nil {
		k.settled.Store(true)
		if before != nil {
			k.trouble.Store(nil)
			k.Log.Info("webhooks are registered correctly again")
		}
		return
	}
	k.trouble.Store(&err)
	if before == nil || (*before).Error() != err.Error() {
		k.Log.Error(err, "webhooks are not registered correctly")
	}
}

// nudge wakes the loop.
func (k *keeper) nudge() {
	select {
	case k.wake <- struct{}{}:
	default: // it will
	}
}
