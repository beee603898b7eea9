package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/local/localtest"
)

// While the server is unavailable, no request receives a response. Afterwards everything continues as before.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, moment := range []fault.Moment{fault.Before, fault.Effect, fault.Answer} {
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			f := fault.Fault{Kind: fault.Outage, Moment: moment, For: metav1.Duration{Duration: 3 * time.Second}, On: fault.Match{Verb: "create", Name: "two"}}
			inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
				client := v.configMaps()
				v.write(client, "one", "1")
				v.shows("+one1")
				began := time.Now()
				_, err := client.Create(t.Context(), configMap("two", nil), metav1.CreateOptions{})
				if (err == nil) != (moment == fault.Answer) || v.there("two") != (moment != fault.Before) {
					t.Errorf("%v, and two is there: %v", err, v.there("two"))
				}
				// On a slow machine, little of the outage is left to be seen.
				late := time.Since(began) > f.For.Duration/2
				for err = error(nil); err == nil && time.Since(began) < f.For.Duration; { // a response may still be in transit
					_, err = client.Create(t.Context(), configMap("zero", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				}
				if err == nil && !late {
					t.Error("answered all the time")
				}
				v.disturbed(began, f.For.Duration)
				v.write(direct, "three", "1")
				localtest.Eventually(t, "an answer", func(ctx context.Context) error {
					_, err := client.Get(ctx, "one", metav1.GetOptions{})
					return err
				})
				if took := time.Since(began); took < f.For.Duration {
					t.Errorf("answered after %s", took)
				}
				localtest.Eventually(t, "the watch", func(context.Context) error {
					if !v.has("three") {
						return fmt.Errorf("shown is %s", v.shown())
					}
					return nil
				})
			})
		})
	}
}

// disturbed checks that a fault is active that was injected after since and has the duration while. If the machine
// was so slow that the duration is over, it checks nothing.
func (s *stand) disturbed(since time.Time, while time.Duration) {
	s.Helper()
	if now, _ := s.Activity(); !now.Disturbed && time.Since(since) < while {
		s.Errorf("the activity is %+v", now)
	}
}

// has reports whether the informer's store has an object.
func (v *viewer) has(name string) bool {
	v.Helper()
	_, ok, err := v.informer.GetStore().GetByKey(v.Namespace + "/" + name)
	v.must(err)
	return ok
}

// An expired token is rejected for a time. Clients can read the new token from the file.
// Watches continue, as watches of the API server do.
func TestExpire(t *testing.T) {
	t.Parallel()
	for _, moment := range []fault.Moment{fault.Before, fault.Effect} {
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, fault.Fault{Kind: fault.Expire, Moment: moment, On: fault.Match{Verb: "create"}})
			if _, err := s.NewInstance(""); err == nil {
				t.Error("an instance has no place for a new token")
			}
			i, _ := s.instance()
			v, client := s.views(i.Config()), s.configMaps(i.Config())
			began := time.Now()
			_, err := client.Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
			if (moment == fault.Before) != apierrors.IsUnauthorized(err) || moment == fault.Effect && err != nil {
				t.Error(err)
			}
			if there := s.there("one"); there != (moment == fault.Effect) {
				t.Errorf("it is there: %v", there)
			}
			_, err = client.Get(t.Context(), "x", metav1.GetOptions{})
			if !apierrors.IsUnauthorized(err) && time.Since(began) < fault.DefaultExpire {
				t.Errorf("the old token: %v", err)
			}
			if _, err := s.configMaps(i.Config()).Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the new token: %v", err)
			}
			s.disturbed(began, fault.DefaultExpire)
			localtest.Eventually(t, "an answer to the old token", func(ctx context.Context) error {
				_, err := client.Get(ctx, "x", metav1.GetOptions{})
				if !apierrors.IsNotFound(err) {
					return fmt.Errorf("got %w", err)
				}
				return nil
			})
			if took := time.Since(began); took < fault.DefaultExpire {
				t.Errorf("the old token was refused for %s", took)
			}
			s.write(s.configMaps(s.Env.Config), "three", "1")
			localtest.Eventually(t, "the watch", func(context.Context) error {
				if !v.has("three") {
					return fmt.Errorf("shown is %s", v.shown())
				}
				return nil
			})
			for _, r := range s.Record().Requests() {
				if r.Verb == "watch" && r.Status == http.StatusOK {
					t.Errorf("a watch ended: %+v", r)
				}
			}
		})
	}
}

// A second instance starts beside the first, whose request continues unaffected.
func TestOverlap(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 2)
	s := standWith(t, proxy.Options{Overlap: func() { started <- struct{}{} }}, fault.Fault{Kind: fault.Overlap, On: creations})
	for _, name := range []string{"one", "two", "three"} {
		s.write(s.configMaps(), name, "1")
	}
	select {
	case <-started:
	case <-time.After(localtest.Patience):
		t.Error("no second instance was started")
	}
	script, err := fault.NewScript(fault.Fault{Kind: fault.Overlap})
	s.must(err)
	if _, err := proxy.Start(proxy.Options{Server: s.Env.Config, Script: script}); err == nil {
		t.Error("started")
	}
}

// The next instance sees an earlier state until it is quiet. Requests that must return the newest state return it.
func TestPast(t *testing.T) {
	t.Parallel()
	at := fault.Match{Verb: "create", Name: "four"}
	for name, f := range map[string]fault.Fault{
		"writes back": {Kind: fault.Past, Back: 2, Quiet: still, For: long, On: at},
		"to a write":  {Kind: fault.Past, To: fault.Match{Verb: "create", Resource: "configmaps", Name: "two"}, Quiet: still, For: long, On: at},
		"a step back": {Kind: fault.Past, Step: "first", Quiet: still, For: long, On: at},
		"by an event": {Kind: fault.Past, Back: 1, Quiet: still, For: long, On: fault.Match{Verb: fault.Event, Name: "three"}},
		"afterwards":  {Kind: fault.Past, Moment: fault.Effect, Back: 3, Quiet: still, For: long, On: at},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
				client := v.configMaps()
				v.write(client, "one", "1")
				v.Mark(t.Context(), "first")
				v.write(client, "two", "1")
				v.write(client, "three", "1")
				all := "+one1 +two1 +three1"
				if f.On == at {
					v.shows(all)
					if _, err := client.Create(t.Context(), configMap("four", nil), metav1.CreateOptions{}); err == nil {
						t.Error("answered")
					}
				}
				if f.Moment == fault.Effect {
					all += " +four"
				}
				localtest.Eventually(t, "the past", func(context.Context) error {
					if left := v.script.Pending(); left != nil {
						return fmt.Errorf("pending are %v", left)
					}
					return nil
				})
				quiet := v.busy()
				defer quiet()
				i, err := v.NewInstance("")
				v.must(err)
				next := v.stand.views(i.Config())
				if got := next.shown(); got != "+one1" {
					t.Errorf("the next instance is shown %s", got)
				}
				now := v.listed(v.configMaps(i.Config()), metav1.ListOptions{})
				if old := v.listed(v.configMaps(i.Config()), metav1.ListOptions{ResourceVersion: "0"}); old != "one1" || now == old {
					t.Errorf("a list that may be old shows %s, another one %s", old, now)
				}
				if got := next.shown(); got != "+one1" {
					t.Errorf("the next instance was shown %s too early", got)
				}
				quiet()
				next.shows(all)
			})
		})
	}
}

// In a run with a Past, a watch that begins with a list is rejected, as by an API server without
// that feature.
func TestWatchListsAreRefused(t *testing.T) {
	t.Parallel()
	s := standWith(t, proxy.Options{Kill: func() {}}, fault.Fault{Kind: fault.Past, On: fault.Match{Verb: "create"}})
	_, err := s.configMaps().Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	const want = `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled`
	if !apierrors.IsInvalid(err) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	stream, err := s.configMaps().Watch(t.Context(), metav1.ListOptions{})
	s.must(err)
	stream.Stop()
}

// election runs leader election until ctx ends or the lease is lost.
func (s *stand) election(ctx context.Context, config *rest.Config, name string) (leads, stopped chan struct{}) {
	s.Helper()
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: "leader"},
		Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	leads, stopped = make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: time.Minute, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() { close(stopped) },
		},
	})
	s.must(err)
	go elector.Run(ctx)
	return leads, stopped
}

// comes waits until something happens.
func (s *stand) comes(what string, happened <-chan struct{}) {
	s.Helper()
	select {
	case <-happened:
	case <-time.After(localtest.Patience):
		s.Errorf("%s: not within %s", what, localtest.Patience)
	}
}

// A leader loses its lease to another holder and stops leading. The next instance gets the lease immediately.
func TestLoseLease(t *testing.T) {
	t.Parallel()
	s := standWith(t, proxy.Options{Admin: localtest.Shared(t).Config}, fault.Fault{
		Kind: fault.LoseLease, For: metav1.Duration{Duration: time.Minute}, On: fault.Match{Verb: "create", Resource: "configmaps"},
	})
	one, _ := s.instance()
	leads, stopped := s.election(t.Context(), one.Config(), "one")
	s.comes("the first leads", leads)
	s.write(s.configMaps(one.Config()), "x", "1")
	lease, err := kubernetes.NewForConfigOrDie(s.Env.Config).CoordinationV1().Leases(s.Namespace).Get(t.Context(), "leader", metav1.GetOptions{})
	s.must(err)
	if *lease.Spec.HolderIdentity != proxy.OtherHolder {
		t.Errorf("the lease is held by %s: %+v", *lease.Spec.HolderIdentity, s.recorded("create", "x"))
	}
	s.comes("the first gives up", stopped)
	if now, _ := s.Activity(); !now.Disturbed {
		t.Error("nobody has taken a lease")
	}
	one.Revoke()
	two, _ := s.instance()
	leads, _ = s.election(t.Context(), two.Config(), "two")
	s.comes("the second leads", leads)
	localtest.Eventually(t, "the end of it", func(context.Context) error {
		if now, _ := s.Activity(); now.Disturbed {
			return fmt.Errorf("the activity is %+v", now)
		}
		return nil
	})
}

// An instance that is not the leader cannot lose a lease. This is recorded.
func TestLoseNoLease(t *testing.T) {
	t.Parallel()
	s := standWith(t, proxy.Options{Admin: localtest.Shared(t).Config}, fault.Fault{Kind: fault.LoseLease, On: fault.Match{Verb: "create"}})
	s.write(s.configMaps(), "x", "1")
	if r := s.recorded("create", "x"); r.Fault != "lose-lease on create * #1; the instance holds no lease" {
		t.Errorf("recorded is %+v", r)
	}
}
