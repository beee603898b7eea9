package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// upgrading is a composer that also upgrades.
type upgrading struct {
	boxtest.ComposeFunc
	upgrade func(*boxtest.Box, *operon.UpgradeContext) error
}

func (u upgrading) Upgrade(_ context.Context, b *boxtest.Box, from *operon.UpgradeContext) error {
	return u.upgrade(b, from)
}

// release runs a version of the operator.
func (w *fixture) release(config *rest.Config, version string, composer operon.Composer[*boxtest.Box]) (*boxtest.Traffic, func()) {
	return w.RunWith(config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme), operon.Version(version), operon.Manage(composer))
}

// recorded waits until the status of a Box has a version.
func (w *fixture) recorded(b *boxtest.Box, version, reason string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s to be of version %s", b.Name, version), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, "Upgraded")
		if c == nil || c.Reason != reason || !strings.HasSuffix(c.Message, " "+version) {
			return fmt.Errorf("the condition is %+v", c)
		}
		if c.ObservedGeneration != 0 {
			w.Errorf("the condition names the generation %d, which it says nothing of and which a change of the spec leaves behind", c.ObservedGeneration)
		}
		return nil
	})
}

// A newer version upgrades an object once, and composes it only after that. A version without an upgrade writes nothing to a
// converged object. An older version does not change the object.
func TestObjectsAreUpgraded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.Box("a", map[string]string{"k": "1"})

	_, stop := w.release(w.Config, "1.0.0", boxtest.ComposeFunc(boxtest.Copies))
	w.IsReady(b)
	w.recorded(b, "1.0.0", "NothingToUpgrade")
	stop()

	requests, stop := w.release(w.Config, "1.1.0", boxtest.ComposeFunc(boxtest.Copies))
	w.Poke(b)
	// Longer than the delay of writes that only change messages.
	localtest.Always(t, 1500*time.Millisecond, "no write of a version with nothing to upgrade", func(context.Context) error {
		if got := requests.All(true); len(got) > 0 {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	w.recorded(b, "1.0.0", "NothingToUpgrade")
	stop()

	var mu sync.Mutex
	var calls []string
	ready := make(chan struct{})
	newer := upgrading{boxtest.Copies, func(b *boxtest.Box, from *operon.UpgradeContext) error {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-ready:
			if b.Name == "fresh" {
				return nil // the order of the two upgrades is not defined
			}
			calls = append(calls, fmt.Sprintf("%s %s to %s before 2: %t", b.Name, from.From, from.To, from.Before("2.0.0")))
			return nil
		default:
			return errors.New("the archive is away")
		}
	}}
	_, stop = w.release(w.Config, "2.0.0", newer)
	w.Change(b, func() { b.Spec.Data["k"] = "2" })
	w.Ready(b, metav1.ConditionFalse, "ReconcileFailed", "the archive is away")
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"k": "1"})
	close(ready)
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"k": "2"})
	w.recorded(b, "2.0.0", "Upgraded")
	w.Event("Upgraded", "from 1.0.0 to 2.0.0")
	fresh := w.Box("fresh", nil)
	w.IsReady(fresh)
	w.recorded(fresh, "2.0.0", "Upgraded")
	w.Change(b, func() { b.Spec.Data["k"] = "3" })
	w.IsReady(b)
	stop()
	_, stop = w.release(w.Config, "2.1.0", newer)
	w.recorded(b, "2.1.0", "Upgraded")
	stop()
	_, stop = w.release(w.Config, "2.2.0", newer)
	w.recorded(b, "2.2.0", "Upgraded")
	w.IsReady(b)
	if mu.Lock(); strings.Join(calls, "; ") != "a 1.0.0 to 2.0.0 before 2: true; a 2.0.0 to 2.1.0 before 2: false; a 2.1.0 to 2.2.0 before 2: false" {
		t.Errorf("upgraded was %q", calls)
	}
	mu.Unlock()
	stop()

	w.release(w.Config, "1.1.0", boxtest.ComposeFunc(boxtest.Copies))
	w.Change(b, func() { b.Spec.Data["k"] = "4" })
	w.Ready(b, metav1.ConditionFalse, "NewerVersion", "last reconciled by operator version 2.2.0, which is newer than this one, 1.1.0")
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"k": "3"})
	w.Change(b, func() { b.Annotations = map[string]string{"operon.dev/downgrade-from": "2.2.0"} })
	w.IsReady(b)
	w.recorded(b, "1.1.0", "NothingToUpgrade")
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"k": "4"})
}

// An upgrade that could not be recorded in the status is repeated, possibly by a later version, with the same key, so its
// results are found again. Another object has another key.
func TestAnUpgradeThatWasNotRecordedIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b, other := w.Box("a", nil), w.Box("other", nil)
	_, stop := w.Run(boxtest.ComposeFunc(boxtest.Copies)) // a version without a name
	w.IsReady(b)
	w.IsReady(other)
	stop()
	dead := make(chan struct{})
	once := sync.OnceFunc(func() { close(dead) })
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/status") {
				if strings.HasSuffix(r.URL.Path, "/boxes/a/status") {
					once()
				}
				return nil, errors.New("killed")
			}
			return next.RoundTrip(r)
		})
	})
	var mu sync.Mutex
	keys := map[string]map[string]bool{} // of objects
	upgrades := upgrading{boxtest.Copies, func(b *boxtest.Box, from *operon.UpgradeContext) error {
		mu.Lock()
		defer mu.Unlock()
		if from.From != "" {
			t.Errorf("upgraded from %q", from.From)
		}
		if keys[b.Name] == nil {
			keys[b.Name] = map[string]bool{}
		}
		keys[b.Name][from.To+" "+from.Key] = true
		return nil
	}}
	_, stop = w.release(config, "2.0.0", upgrades)
	localtest.Receive(t, "the first upgrade to be cut off", dead)
	stop()
	w.release(w.Config, "2.1.0", upgrades)
	w.recorded(b, "2.1.0", "Upgraded")
	w.recorded(other, "2.1.0", "Upgraded")
	mu.Lock()
	defer mu.Unlock()
	key := func(name string) string {
		for call := range keys[name] {
			return strings.Fields(call)[1]
		}
		return ""
	}
	own := key("a")
	if len(own) != 32 || !maps.Equal(keys["a"], map[string]bool{"2.0.0 " + own: true, "2.1.0 " + own: true}) {
		t.Errorf("a was upgraded under %v, want once more under the same key", keys["a"])
	}
	if key("other") == own {
		t.Errorf("two objects have the key %s", own)
	}
}

// A version that upgrades nothing can be rolled back: the version before it reconciles its objects, and nobody has to allow that.
func TestVersionsWithoutUpgradesAreRolledBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.Box("a", map[string]string{"k": "1"})
	_, stop := w.release(w.Config, "2.0.0", boxtest.ComposeFunc(boxtest.Copies))
	w.IsReady(b)
	w.recorded(b, "2.0.0", "NothingToUpgrade")
	stop()
	w.release(w.Config, "1.0.0", boxtest.ComposeFunc(boxtest.Copies))
	w.Change(b, func() { b.Spec.Data["k"] = "2" })
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"k": "2"})
}

// An upgrade that was rolled back is done again by the next attempt, with the same key, so that its results are found again.
func TestADowngradedObjectIsUpgradedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.Box("a", nil)
	var mu sync.Mutex
	var calls []string
	newer := upgrading{boxtest.Copies, func(_ *boxtest.Box, from *operon.UpgradeContext) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, from.From+" "+from.Key)
		return nil
	}}
	var attempts [2][]string
	for i := range attempts {
		_, stop := w.release(w.Config, "1.0.0", boxtest.ComposeFunc(boxtest.Copies))
		w.recorded(b, "1.0.0", "NothingToUpgrade")
		stop()
		_, stop = w.release(w.Config, "2.0.0", newer)
		w.recorded(b, "2.0.0", "Upgraded")
		stop()
		mu.Lock()
		attempts[i], calls = slices.Compact(calls), nil // a call whose success could not be recorded is repeated
		mu.Unlock()
		w.Change(b, func() { b.Annotations = map[string]string{"operon.dev/downgrade-from": "2.0.0"} })
	}
	if first := attempts[0]; len(first) != 1 || !strings.HasPrefix(first[0], "1.0.0 ") || !slices.Equal(first, attempts[1]) {
		t.Errorf("upgraded was %q, and after the rollback %q: want the same, once", first, attempts[1])
	}
}

// cleaning is a composer that also upgrades and cleans up.
type cleaning struct{ upgrading }

// Finalize implements operon.Finalizer.
func (cleaning) Finalize(context.Context, *boxtest.Box, *operon.Finalization) error { return nil }

// Any version finalizes an object that is being deleted, also one that a newer version has upgraded.
func TestAnOlderVersionFinalizes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.Box("a", nil)
	_, stop := w.release(w.Config, "2.0.0", cleaning{upgrading{boxtest.Copies, func(*boxtest.Box, *operon.UpgradeContext) error { return nil }}})
	w.IsReady(b)
	w.recorded(b, "2.0.0", "Upgraded")
	stop()
	var calls atomic.Int64
	var released atomic.Bool
	released.Store(true)
	w.release(w.Config, "1.0.0", waitingCleanup{boxtest.Copies, &calls, &released})
	w.Ready(b, metav1.ConditionFalse, "NewerVersion", "last reconciled by operator version 2.0.0")
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	if calls.Load() == 0 {
		t.Error("it went without the cleanup of the older version")
	}
}

func TestVersionsThatAreRefused(t *testing.T) {
	t.Parallel()
	nothing := upgrading{boxtest.Copies, func(*boxtest.Box, *operon.UpgradeContext) error { return nil }}
	for says, parts := range map[string][]operon.Option{
		`operon.Version: "latest" is not a semantic version`:    {operon.API(boxtest.AddToScheme), operon.Manage(nothing), operon.Version("latest")},
		"the operator names no version: give it operon.Version": {operon.API(boxtest.AddToScheme), operon.Manage(nothing)},
	} {
		if err := operon.Run(t.Context(), "box-operator", &rest.Config{Host: "127.0.0.1:1"}, operon.Config{}, parts...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
