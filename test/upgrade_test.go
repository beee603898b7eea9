package operon_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// upgrading is a composer that also upgrades.
type upgrading struct {
	compose
	upgrade func(*Box, *operon.UpgradeContext) error
}

func (u upgrading) Upgrade(_ context.Context, b *Box, from *operon.UpgradeContext) error {
	return u.upgrade(b, from)
}

// release runs a version of the operator.
func (w *world) release(config *rest.Config, version string, composer operon.Composer[*Box]) (*traffic, func()) {
	return w.runWith(config, operon.Config{Namespace: w.Namespace}, operon.API(addBox), operon.Version(version), operon.Manage(composer))
}

// recorded waits until the status of a Box has a version.
func (w *world) recorded(b *Box, version, reason string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s to be of version %s", b.Name, version), func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
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
	w := newWorld(t)
	b := w.box("a", map[string]string{"k": "1"})

	_, stop := w.release(w.Config, "1.0.0", compose(copies))
	w.isReady(b)
	w.recorded(b, "1.0.0", "NothingToUpgrade")
	stop()

	requests, stop := w.release(w.Config, "1.1.0", compose(copies))
	w.poke(b)
	// Longer than the delay of writes that only change messages.
	localtest.Always(t, 1500*time.Millisecond, "no write of a version with nothing to upgrade", func(context.Context) error {
		if got := requests.all(true); len(got) > 0 {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	w.recorded(b, "1.0.0", "NothingToUpgrade")
	stop()

	var mu sync.Mutex
	var calls []string
	ready := make(chan struct{})
	newer := upgrading{copies, func(b *Box, from *operon.UpgradeContext) error {
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
	w.change(b, func() { b.Spec.Data["k"] = "2" })
	w.ready(b, metav1.ConditionFalse, "ReconcileFailed", "the archive is away")
	w.holds(config("a", nil), map[string]string{"k": "1"})
	close(ready)
	w.isReady(b)
	w.holds(config("a", nil), map[string]string{"k": "2"})
	w.recorded(b, "2.0.0", "Upgraded")
	w.event("Upgraded", "from 1.0.0 to 2.0.0")
	fresh := w.box("fresh", nil)
	w.isReady(fresh)
	w.recorded(fresh, "2.0.0", "Upgraded")
	w.change(b, func() { b.Spec.Data["k"] = "3" })
	w.isReady(b)
	stop()
	_, stop = w.release(w.Config, "2.1.0", newer)
	w.recorded(b, "2.1.0", "Upgraded")
	stop()
	_, stop = w.release(w.Config, "2.2.0", newer)
	w.recorded(b, "2.2.0", "Upgraded")
	w.isReady(b)
	if mu.Lock(); strings.Join(calls, "; ") != "a 1.0.0 to 2.0.0 before 2: true; a 2.0.0 to 2.1.0 before 2: false; a 2.1.0 to 2.2.0 before 2: false" {
		t.Errorf("upgraded was %q", calls)
	}
	mu.Unlock()
	stop()

	w.release(w.Config, "1.1.0", compose(copies))
	w.change(b, func() { b.Spec.Data["k"] = "4" })
	w.ready(b, metav1.ConditionFalse, "NewerVersion", "last reconciled by operator version 2.2.0, which is newer than this one, 1.1.0")
	w.holds(config("a", nil), map[string]string{"k": "3"})
	w.change(b, func() { b.Annotations = map[string]string{"operon.dev/downgrade-from": "2.2.0"} })
	w.isReady(b)
	w.recorded(b, "1.1.0", "NothingToUpgrade")
	w.holds(config("a", nil), map[string]string{"k": "4"})
}

// An upgrade that could not be recorded in the status is repeated, possibly by a later version, with the same key, so its
// results are found again. Another object has another key.
func TestAnUpgradeThatWasNotRecordedIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, other := w.box("a", nil), w.box("other", nil)
	_, stop := w.run(compose(copies)) // a version without a name
	w.isReady(b)
	w.isReady(other)
	stop()
	dead := make(chan struct{})
	once := sync.OnceFunc(func() { close(dead) })
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
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
	upgrades := upgrading{copies, func(b *Box, from *operon.UpgradeContext) error {
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

func TestVersionsThatAreRefused(t *testing.T) {
	t.Parallel()
	nothing := upgrading{copies, func(*Box, *operon.UpgradeContext) error { return nil }}
	for says, parts := range map[string][]operon.Option{
		`operon.Version: "latest" is not a semantic version`:    {operon.API(addBox), operon.Manage(nothing), operon.Version("latest")},
		"the operator names no version: give it operon.Version": {operon.API(addBox), operon.Manage(nothing)},
	} {
		if err := operon.Run(t.Context(), "box-operator", &rest.Config{Host: "127.0.0.1:1"}, operon.Config{}, parts...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
