package tenants_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// never is a finalizer that is never removed automatically.
const never = "hostile.example.com/never"

// secretOfVictim is in the victim's spec, and therefore in its child objects. The size of its database is in its Secret.
const (
	secretOfVictim = "known-to-the-victim-alone"
	sizeOfVictim   = "size-of-the-victim"
)

// attack is an attack by a hostile tenant, who knows all names and UIDs of the victim.
type attack struct {
	name string
	do   func(*world)
}

// attacks are all attacks. Each runs in a separate world.
var attacks = slices.Concat(onAnnotations, onChildren, onMarks, onLimits)

// TestTenants runs each attack on a separate operator, and checks the invariants of all attacks: the victim's objects and
// external resources are unchanged, the hostile tenant has none of the victim's data, the operator sends at most twice the
// requests that the same number of harmless writes costs, and it still serves the victim, including the deletion of the
// victim's objects.
func TestTenants(t *testing.T) {
	t.Parallel()
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cost := w.calm()
			ids := w.system.ids(sizeOfVictim)
			before := w.state(w.b, ids)
			requests, own := w.sent.all(), w.a.sent.all()
			attack.do(w)
			w.isQuiet()
			if after := w.state(w.b, ids); !slices.Equal(before, after) {
				t.Errorf("the victim had\n%s\nand has\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			if leaks := w.leaks(w.a, secretOfVictim, sizeOfVictim); len(leaks) > 0 {
				t.Errorf("the hostile tenant knows of the victim: %q", leaks)
			}
			w.isBounded(cost, requests, own)
			w.serves()
		})
	}
}

// calm creates a Box for each tenant, and returns the number of requests for one.
func (w *world) calm() int {
	w.Helper()
	w.b.box = w.create(w.b, "shop", map[string]string{"text": secretOfVictim, sizeField: sizeOfVictim})
	w.isReady(w.b.box)
	w.isQuiet()
	before, _ := w.sent.since()
	w.a.box = w.create(w.a, "shop", map[string]string{"text": "a", sizeField: "small"})
	w.isReady(w.a.box)
	w.isQuiet()
	after, _ := w.sent.since()
	return after - before
}

// Numbers of requests of the operator.
const (
	// perWrite is the cost of a harmless change of an object: the write of a child and of a status.
	perWrite = 2
	// perAttack is the cost of requests that an operator sends once: two for each of eight unknown kinds, and lists before watches.
	perAttack = 24
)

// isBounded compares the operator's requests with the writes of the hostile tenant.
func (w *world) isBounded(cost int, sentBefore, ownBefore map[string]int) {
	w.Helper()
	sent, own, limit := minus(w.sent.all(), sentBefore), minus(w.a.sent.all(), ownBefore), perAttack
	total := 0
	for _, n := range sent {
		total += n
	}
	for request, n := range own {
		method, path, _ := strings.Cut(request, " ")
		switch {
		case method == "GET":
		case method == "POST" && (strings.HasSuffix(path, "/boxes") || strings.HasSuffix(path, "/actions")):
			limit += 2 * cost * n
		case strings.Contains(path, "/boxes"):
			limit += 2 * perWrite * n
		default:
			limit += 2 * n
		}
	}
	w.Logf("the operator sent %d requests of at most %d; a Box costs %d", total, limit, cost)
	if total > limit {
		w.Errorf("the operator sent %d requests, at most %d were expected: %v\nfor these of the tenant: %v", total, limit, sent, own)
	}
}

func minus(all, before map[string]int) map[string]int {
	left := map[string]int{}
	for key, n := range all {
		if n -= before[key]; n > 0 {
			left[key] = n
		}
	}
	return left
}

// serves checks that the victim can change and delete its Box.
func (w *world) serves() {
	w.Helper()
	w.change(w.b, w.b.box, func() { w.b.box.Spec.Data["text"] = "changed" })
	w.isReady(w.b.box)
	key := client.ObjectKeyFromObject(w.b.box)
	data := &corev1.ConfigMap{}
	w.must(w.b.Get(w.Context(), key, data))
	if data.Data["text"] != "changed" {
		w.Errorf("the victim's ConfigMap contains %q", data.Data)
	}
	w.must(w.b.Delete(w.Context(), w.b.box))
	localtest.Eventually(w.T, "the victim's Box to be deleted", func(ctx context.Context) error {
		left := &box.Box{}
		if err := w.b.Get(ctx, key, left); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%w, finalizers %q, status %+v", err, left.Finalizers, left.Status)
		}
		return nil
	})
}
