package providers_test

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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// cell is the external resource of the tests, with a size and a key.
type cell struct{ Size, key string }

// rack is an external system that contains cells by ID. It is unavailable while err is set, and accepts one password.
type rack struct {
	mu       sync.Mutex
	cells    map[string]cell
	made     int
	looks    int
	err      error
	password string
	// locked means that the credentials of the rack are missing.
	locked bool
	// asking and making are called before a query by key, and before a creation.
	asking, making func()
	// visits are the annotations of the objects for which resources were declared, one for each reconcile.
	visits []map[string]string
}

// visitor is a provider that accesses the rack with a password.
type visitor struct {
	*rack
	password string
}

func (v visitor) enter() (leave func(), err error) {
	v.mu.Lock()
	if v.err != nil {
		defer v.mu.Unlock()
		return nil, v.err
	}
	if v.rack.password != v.password {
		defer v.mu.Unlock()
		return nil, external.AsDenied(errors.New("the password is not accepted"))
	}
	return v.mu.Unlock, nil
}

func (v visitor) Observe(_ context.Context, id string, want cell) (seen external.Observation[cell], err error) {
	leave, err := v.enter()
	if err != nil {
		return seen, err
	}
	defer leave()
	v.looks++
	found, ok := v.cells[id]
	if !ok {
		return seen, nil
	}
	seen = external.Observation[cell]{Exists: true, State: found, Details: map[string][]byte{"address": []byte(id + ".example.com")}}
	if found.Size != want.Size {
		seen.Drift = []string{"size"}
	}
	return seen, nil
}

func (v visitor) Create(_ context.Context, mark external.Mark, want cell) (string, error) {
	if v.making != nil {
		v.making()
	}
	leave, err := v.enter()
	if err != nil {
		return "", err
	}
	defer leave()
	v.made++
	id := fmt.Sprintf("cell-%d", v.made)
	v.cells[id] = cell{Size: want.Size, key: mark.Key}
	return id, nil
}

func (v visitor) Update(_ context.Context, id string, want cell) error {
	leave, err := v.enter()
	if err != nil {
		return err
	}
	defer leave()
	v.cells[id] = cell{Size: want.Size, key: v.cells[id].key}
	return nil
}

func (v visitor) Delete(_ context.Context, id string) error {
	leave, err := v.enter()
	if err != nil {
		return err
	}
	defer leave()
	delete(v.cells, id)
	return nil
}

func (v visitor) Find(_ context.Context, key string) (string, error) {
	if v.asking != nil {
		v.asking()
	}
	leave, err := v.enter()
	if err != nil {
		return "", err
	}
	defer leave()
	for id, c := range v.cells {
		if c.key == key {
			return id, nil
		}
	}
	return "", nil
}

// set changes the rack from outside.
func (s *rack) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// comesBack makes the rack available again, so a failed test can remove its resources.
func (s *rack) comesBack() { s.set(func() { s.err, s.locked = nil, false }) }

// holds checks that the rack contains cells of exactly these sizes, and how many were created in total.
func (s *rack) holds(made int, sizes ...string) func(context.Context) error {
	return func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		var got []string
		for _, c := range s.cells {
			got = append(got, c.Size)
		}
		slices.Sort(got)
		if slices.Equal(got, sizes) && s.made == made {
			return nil
		}
		return fmt.Errorf("it holds %q, and %d were made", got, s.made)
	}
}

// keeper composes a cell for each entry of a Box's data, and a Secret with the address of each.
type keeper struct {
	*rack
	options  []external.KindOption
	resource []external.Option
	// keyless means that the rack cannot be queried by key.
	keyless bool
}

func newKeeper(options ...external.KindOption) keeper {
	return keeper{rack: &rack{cells: map[string]cell{}}, options: options}
}

func (k keeper) ComposeExternal(ctx context.Context, b *boxtest.Box, out *operon.ExternalComposition) error {
	var locked bool
	k.set(func() { k.visits, locked = append(k.visits, maps.Clone(b.Annotations)), k.locked })
	if locked {
		out.Wait("CredentialsMissing", "nobody says how the rack is reached")
		return nil
	}
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "credentials"}}
	if _, err := out.Get(ctx, credentials); err != nil {
		return err
	}
	options := append([]external.KindOption{external.System("rack", credentials.ResourceVersion)}, k.options...)
	var provider external.Provider[cell, cell] = visitor{k.rack, string(credentials.Data["password"])}
	if k.keyless {
		provider = struct{ external.Provider[cell, cell] }{provider}
	}
	cells := operon.ExternalKind(out, "cell", provider, options...)
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Data)) {
		cells.Declare(name, cell{Size: b.Spec.Data[name]}, k.resource...)
	}
	return nil
}

func (keeper) Compose(_ context.Context, _ *boxtest.Box, out *operon.Composition) error {
	cells, err := operon.External[cell](out, "cell")
	if err != nil {
		return err
	}
	for _, c := range cells {
		if c.Exists {
			out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Data: c.Details})
		}
	}
	return nil
}

func (keeper) Observe(_ context.Context, b *boxtest.Box, seen *operon.Observed) error {
	cells, err := operon.External[cell](seen, "cell")
	if err != nil {
		return err
	}
	b.Status.Seen = nil
	for _, c := range cells {
		b.Status.Seen = append(b.Status.Seen, fmt.Sprintf("%s %s ready=%v", c.Name, c.State.Size, c.Ready))
	}
	return nil
}

// often sets a rate limit that does not delay the reconciles in these tests.
var often = operon.RateLimit(1000, time.Millisecond)

// annotate sets or, with "", removes an annotation.
func (w *fixture) annotate(b *boxtest.Box, name, value string) {
	w.Helper()
	w.Change(b, func() {
		if b.Annotations == nil {
			b.Annotations = map[string]string{}
		}
		b.Annotations[name] = value
		if value == "" {
			delete(b.Annotations, name)
		}
	})
}

// isReconciled returns when a reconcile that begins now and finds nothing to do has ended, which is when another one has begun
// after it.
func (w *fixture) isReconciled(b *boxtest.Box, k keeper) {
	w.Helper()
	for range 2 {
		w.Poke(b)
		w.Eventually("a reconcile", func(context.Context) error {
			if !k.visited(func(annotations map[string]string) bool { return annotations["poke"] == b.Annotations["poke"] }) {
				return errors.New("none yet")
			}
			return nil
		})
	}
}

// visited reports whether an object with such annotations was reconciled.
func (s *rack) visited(like func(annotations map[string]string) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.visits, like)
}

// The complete life cycle: a resource is created, published, changed, reduced, and deleted with its owner. A converged object
// causes no requests, and a restart writes nothing.
func TestExternalLife(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	requests, stop := w.Run(k)
	b := w.Box("one", map[string]string{"a": "small", "b": "large"})
	w.IsReady(b)
	w.Eventually("the cells", k.holds(2, "large", "small"))
	if !controllerutil.ContainsFinalizer(b, "operon.dev/external") || !strings.Contains(b.Annotations[external.RecordAnnotation], `"cell/a":{"id":"cell-`) {
		t.Errorf("the record is %q, the finalizers are %q", b.Annotations[external.RecordAnnotation], b.Finalizers)
	}
	secret := &corev1.Secret{ObjectMeta: w.Meta("a")}
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	if !strings.HasSuffix(string(secret.Data["address"]), ".example.com") || !slices.Contains(b.Status.Seen, "a small ready=true") {
		t.Errorf("published are %q, seen %q", secret.Data, b.Status.Seen)
	}
	w.Event("ExternalCreated", "cell/a (cell-", "cell/b (cell-")
	w.Event("Created")
	w.Event("Ready")

	before := len(requests.All(false))
	w.isReconciled(b, k)
	if now := requests.All(false); len(now) > before {
		t.Errorf("converged, it costs %q", now[before:])
	}
	stop()
	requests, _ = w.Run(k)
	w.isReconciled(b, k)
	if writes := requests.All(true); len(writes) > 0 {
		t.Errorf("after a restart it writes %q", writes)
	}
	w.Change(b, func() { b.Spec.Data = map[string]string{"a": "huge"} })
	w.Eventually("one cell", k.holds(2, "huge"))
	w.Gone(&corev1.Secret{ObjectMeta: w.Meta("b")})
	w.IsReady(b)
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	w.Must(k.holds(2)(t.Context()))
}

// External changes and deletions by others are detected by polling, which causes no request to the API server.
func TestExternalDrift(t *testing.T) {
	t.Parallel()
	// Within the timeout of a call, a created resource that is not found counts as not visible yet, and not as deleted.
	w, k := newFixture(t), newKeeper(external.Poll(20*time.Millisecond), external.Rate(1000, time.Millisecond), external.Limit(500*time.Millisecond))
	requests, _ := w.Run(k, often)
	b := w.Box("one", map[string]string{"a": "small"})
	w.IsReady(b)
	k.set(func() { k.cells["cell-1"] = cell{Size: "wrong", key: k.cells["cell-1"].key} })
	w.Eventually("the size to be put right", k.holds(1, "small"))
	k.set(func() { delete(k.cells, "cell-1") })
	w.Eventually("another cell", k.holds(2, "small"))
	w.Event("ExternalGone", "cell/a (cell-1)")
	w.IsReady(b)
	w.isReconciled(b, k)
	before, looks := len(boxtest.OfStates(requests.All(false))), k.lookedAt()
	w.Eventually("four more looks", func(context.Context) error {
		if now := k.lookedAt(); now < looks+4 {
			return fmt.Errorf("it was looked at %d times", now-looks)
		}
		return nil
	})
	if now := boxtest.OfStates(requests.All(false)); len(now) > before {
		t.Errorf("to be looked at it costs %q", now[before:])
	}
}

// flawed fails to compose five times. By chance, one failure could be the last: its own writes can cause another reconcile.
type flawed struct {
	keeper
	tries *atomic.Int64
}

func (f flawed) Compose(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
	if f.tries.Add(1) <= 5 {
		return errors.New("not yet")
	}
	return f.keeper.Compose(ctx, b, out)
}

// An error is retried soon, even if external resources are polled only once an hour.
func TestExternalPutsNoErrorOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(flawed{newKeeper(external.Poll(time.Hour)), new(atomic.Int64)})
	w.IsReady(w.Box("one", map[string]string{"a": "small"}))
}

func (s *rack) lookedAt() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// An unavailable system is reported, and child objects stay unchanged, even if an operator that starts in the meantime knows
// nothing about it. Expired credentials are reported, and new ones are used at once.
func TestExternalAway(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper(external.Poll(100*time.Millisecond))
	_, stop := w.Run(k, often)
	b := w.Box("one", map[string]string{"a": "small"})
	w.IsReady(b)
	t.Cleanup(k.comesBack)
	k.set(func() { k.err = errors.New("no route to the rack") })
	w.Ready(b, metav1.ConditionFalse, "ExternalAway", "cell/a: rack: no route to the rack")
	stop()
	requests, _ := w.Run(k, often)
	w.isReconciled(b, k)
	if writes := boxtest.OfChildren(requests.All(true)); len(writes) > 0 {
		t.Errorf("while the system is away it writes %q", writes)
	}
	w.Must(w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "a"}, &corev1.Secret{}))
	k.set(func() { k.err, k.password = nil, "new" })
	w.Ready(b, metav1.ConditionFalse, "ExternalDenied", "the password is not accepted")
	w.Must(w.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: w.Meta("credentials"), Data: map[string][]byte{"password": []byte("new")}}))
	w.IsReady(b)
	w.Must(k.holds(1, "small")(t.Context()))
}

// A user or the author may configure that external resources are orphaned or not changed.
func TestExternalPolicies(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper(external.Poll(100*time.Millisecond))
	w.Run(k, often)
	b := w.Box("one", map[string]string{"a": "small", "b": "small"})
	w.IsReady(b)
	w.annotate(b, external.PolicyAnnotation, "keep")
	w.Ready(b, metav1.ConditionFalse, "InvalidExternal", `operon.dev/external-policy is "keep": want observe or orphan`)
	w.annotate(b, external.PolicyAnnotation, "observe")
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["a"] = "large" })
	w.IsReady(b)
	w.Must(k.holds(2, "small", "small")(t.Context()))
	w.annotate(b, external.PolicyAnnotation, "orphan")
	w.Eventually("the change", k.holds(2, "large", "small"))
	w.IsReady(b)
	w.annotate(b, external.PolicyAnnotation, "")
	w.IsReady(b)
	t.Cleanup(k.comesBack)
	k.set(func() { k.err, k.locked = errors.New("away"), true })
	w.Must(w.Client.Delete(t.Context(), b))
	w.Ready(b, metav1.ConditionFalse, "CredentialsMissing", "nobody says how the rack is reached")
	w.annotate(b, external.PolicyAnnotation, "orphan") // an orphan is left behind without access to the rack
	w.Gone(b)
	w.Must(k.holds(2, "large", "small")(t.Context()))
}

// An operator that does not know the external resources of an earlier version reports that with the remedy. It neither forgets
// nor deletes them. A paused object is not changed.
func TestExternalOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	_, stop := w.Run(k)
	b := w.Box("one", map[string]string{"a": "small"})
	w.IsReady(b)
	w.annotate(b, reconcile.PausedAnnotation, "true")
	w.Change(b, func() { b.Spec.Data["a"] = "large" })
	w.Eventually("the pause", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b)
		if c := meta.FindStatusCondition(b.Status.Conditions, "Paused"); c == nil || c.ObservedGeneration != b.Generation {
			return fmt.Errorf("it says %+v, %v", c, err)
		}
		return nil
	})
	w.Must(k.holds(1, "small")(t.Context()))
	w.annotate(b, reconcile.PausedAnnotation, "")
	w.Eventually("the end of the pause", k.holds(1, "large"))
	stop()
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	w.Must(w.Client.Delete(t.Context(), b))
	w.Ready(b, metav1.ConditionFalse, "ExternalNoProvider", `resources of kind "cell": run the version that made it, or set the annotation operon.dev/external-policy to orphan`)
	w.Must(k.holds(1, "large")(t.Context()))
	w.annotate(b, external.PolicyAnnotation, "orphan")
	w.Gone(b)
}

// A dry run reports what would be done in the external system, and does nothing.
func TestExternalDryRun(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	b := w.Box("one", map[string]string{"a": "small"})
	shown := make(chan operon.Preview, 10)
	requests, _ := w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, DryRun: func(p operon.Preview) { shown <- p }},
		operon.API(boxtest.AddToScheme), operon.Manage[*boxtest.Box](k))
	p := localtest.Receive(t, "what would be done", shown)
	if len(p.Actions) != 1 || p.Actions[0].Verb != "create" || p.Actions[0].Kind != "cell" || p.Actions[0].Name != "a" {
		t.Errorf("shown is %+v", p)
	}
	if writes := requests.All(true); len(writes) > 0 {
		t.Errorf("it wrote %q", writes)
	}
	w.Must(k.holds(0)(t.Context()))
	w.Must(w.Client.Delete(t.Context(), b))
}

// Nothing is changed for an object that only a stale cache shows, not even as being deleted.
func TestExternalOfAnObjectThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper(external.Poll(100*time.Millisecond))
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	w.RunAs(gate.Config(w.Config), k, often)
	b := w.Box("one", map[string]string{"a": "small"})
	w.IsReady(b)
	t.Cleanup(gate.Open)
	gate.Shut()
	w.Change(b, func() { b.Finalizers = nil })
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	k.set(func() { k.cells["cell-1"] = cell{Size: "large", key: "another owner"} })
	w.Still("the cell of another owner is unchanged", k.holds(1, "large"))
}

// Nothing is deleted for an object that only a stale cache shows: another object of its name may have taken over what exists.
func TestExternalOfAnObjectThatIsGone(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper(external.Poll(100*time.Millisecond))
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	w.RunAs(gate.Config(w.Config), k, often)
	b := w.Box("one", map[string]string{"a": "small"})
	w.IsReady(b)
	t.Cleanup(gate.Open)
	t.Cleanup(k.comesBack)
	k.set(func() { k.err = errors.New("no route to the rack") })
	w.Must(w.Client.Delete(t.Context(), b))
	w.Ready(b, metav1.ConditionFalse, "ExternalAway", "cell/a: rack: no route to the rack")
	gate.Shut()
	w.Change(b, func() { b.Finalizers = nil })
	w.Gone(b)
	k.comesBack()
	w.Still("the cell exists", k.holds(1, "small"))
}
