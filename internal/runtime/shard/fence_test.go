package shard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// fenced is a member that holds all slots, and a server that it writes to through its fence.
type fenced struct {
	*testing.T
	*Member
	server *httptest.Server
	client *http.Client

	mu   sync.Mutex
	came []string
	// hold delays responses until it is closed; arrived receives each request.
	hold    chan struct{}
	arrived chan struct{}
}

// lease is a duration that does not expire while a test waits for its turn on a busy machine.
const lease = time.Minute

func newFenced(t *testing.T) *fenced {
	t.Helper()
	f := &fenced{T: t, Member: holding(t), hold: make(chan struct{}), arrived: make(chan struct{}, 10)}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.server.Close)
	f.client = &http.Client{Transport: f.Wrap(http.DefaultTransport)}
	return f
}

// holding returns a member that holds all slots.
func holding(t *testing.T) *Member {
	t.Helper()
	m, err := New(Config{Operator: "op", Name: "a", Slots: 2, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heartbeat.rename()
	m.heartbeat.own, m.heartbeat.renewed = &coordinationv1.Lease{}, time.Now()
	m.assignment.parsed = &shardtable.Table{Holders: []string{m.heartbeat.id, m.heartbeat.id}}
	m.slots.work([]int{0, 1})
	return m
}

func (f *fenced) serve(_ http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.came = append(f.came, r.Method+" "+r.URL.String())
	f.mu.Unlock()
	f.arrived <- struct{}{}
	<-f.hold
}

// write sends a write, or another request.
func (f *fenced) write(ctx context.Context, method string) error {
	r, err := http.NewRequestWithContext(ctx, method, f.server.URL+"/object?dryRun=All", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func (f *fenced) lost(err error) {
	f.Helper()
	if _, lost := errors.AsType[*LostError](err); !lost {
		f.Errorf("a write of what was lost ended with %v, and the server saw %q", err, f.came)
	}
}

func TestWritesAreGivenUpInTime(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	close(f.hold)
	ctx, leave, ok := f.Enter(t.Context(), "uid")
	if !ok {
		t.Fatal("there is no work on what is held")
	}
	if err := f.write(ctx, http.MethodPatch); err != nil {
		t.Fatal(err)
	}
	if want := "PATCH /object?dryRun=All&timeout=20s"; len(f.came) != 1 || f.came[0] != want {
		t.Errorf("the server got %q, want %s", f.came, want)
	}
	if !leave() {
		t.Error("the right was said to be lost")
	}
}

func TestNothingIsWrittenWhenTheLeaseMayHaveRunOut(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	close(f.hold)
	ctx, leave, _ := f.Enter(t.Context(), "uid")
	f.change(func() { f.heartbeat.renewed = time.Now().Add(-f.timing.valid) })
	f.lost(f.write(ctx, http.MethodPut))
	if leave() {
		t.Error("the right was said to be kept")
	}
	if !Lost(ctx) {
		t.Error("the work goes on")
	}
	// The lease is also invalid if only the wall clock (which can be set) or the monotonic clock (which stops in sleep) says so.
	f.change(func() { f.heartbeat.renewed = monotonic(time.Now().Add(-f.timing.valid), f.timing.valid) })
	if f.valid() {
		t.Error("a lease that ran out by the wall clock is valid")
	}
	f.change(func() { f.heartbeat.renewed = monotonic(time.Now(), -f.timing.valid) })
	if f.valid() {
		t.Error("a lease that ran out by the monotonic clock is valid, as somebody set the other one back")
	}
	f.change(func() { f.heartbeat.renewed = time.Now() })
	if !f.valid() {
		t.Error("a lease that was renewed just now is not valid")
	}
}

// monotonic moves the monotonic reading of a time, which differs from the wall clock after a machine has slept. Package time
// has no function for that: the reading is its second word.
func monotonic(at time.Time, by time.Duration) time.Time {
	*(*time.Duration)(unsafe.Add(unsafe.Pointer(&at), 8)) += by
	return at
}

// Work outside of the API server ends, too, before others take the object over; and no work begins.
func TestWorkEndsWhenTheLeaseMayHaveRunOut(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	defer close(f.hold)
	ctx, leave, _ := f.Enter(t.Context(), "uid")
	if again := f.step(t.Context()); again > f.timing.valid || Lost(ctx) {
		t.Errorf("with a lease that is valid for %s, it is looked at again after %s", f.timing.valid, again)
	}
	f.change(func() { f.heartbeat.renewed = time.Now().Add(-f.timing.valid) })
	f.step(t.Context())
	if !Lost(ctx) || leave() {
		t.Error("the work goes on")
	}
	if _, _, ok := f.Enter(t.Context(), "uid"); ok {
		t.Error("work begins that may be another replica's")
	}
	f.change(func() { f.heartbeat.renewed = time.Now() })
	if _, _, ok := f.Enter(t.Context(), "uid"); !ok {
		t.Error("there is no work, with a lease that was renewed and slots that nobody took")
	}
}

func (f *fenced) change(edit func()) {
	f.Member.mu.Lock()
	defer f.Member.mu.Unlock()
	edit()
}

// The durations of a write and of a lease fit together: the last write ends before another member takes over.
func TestTheLastWriteEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{2 * time.Second, 15 * time.Second, time.Minute} {
		timing, err := timingOf(lease)
		if err != nil {
			t.Fatal(err)
		}
		if last := timing.valid + timing.write; last >= lease || timing.valid < 2*timing.renew {
			t.Errorf("with a lease of %s the last write ends after %s, and %s have to pass for two renewals within %s", lease, last, 2*timing.renew, timing.valid)
		}
	}
	for _, lease := range []time.Duration{0, time.Second, 2500 * time.Millisecond} {
		if _, err := timingOf(lease); err == nil {
			t.Errorf("a lease of %s is taken", lease)
		}
	}
}

func TestWhatIsGivenUpIsNotWritten(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	close(f.hold)
	ctx, leave, _ := f.Enter(t.Context(), "uid")
	f.slots.revokeAll()
	f.lost(f.write(ctx, http.MethodDelete))
	if ctx.Err() == nil || leave() {
		t.Error("the work was not told to end")
	}
	if _, _, ok := f.Enter(t.Context(), "uid"); ok {
		t.Error("there is work on what was given up")
	}
	f.lost(f.write(f.Outside(t.Context()), http.MethodPost))
	if err := f.write(t.Context(), http.MethodPost); err != nil || len(f.came) != 1 {
		t.Errorf("what belongs to no object is not written: %v, %q", err, f.came)
	}
}

// A slot is given away only after all requests for it were answered.
func TestGivingUpWaitsForAnswers(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	ctx, leave, _ := f.Enter(t.Context(), "uid")
	written := make(chan error, 1)
	go func() { written <- f.write(ctx, http.MethodPatch) }()
	<-f.arrived
	g := passOf(ctx).grant
	drained := make(chan struct{})
	go func() {
		g.drain(context.Background(), 0)
		close(drained)
	}()
	<-ctx.Done() // the rest is refused from here on
	f.lost(f.write(ctx, http.MethodPatch))
	select {
	case <-drained:
		t.Error("it was given up while a write was under way")
	default:
	}
	close(f.hold)
	if err := <-written; err != nil {
		t.Errorf("a write that was under way was cut off, so that nobody knows what became of it: %v", err)
	}
	<-drained
	leave()
}

// A member without a response does not know whether the write takes effect, and waits.
func TestGivingUpWaitsForDoubts(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	defer close(f.hold)
	f.change(func() { f.timing.write = 200 * time.Millisecond })
	ctx, leave, _ := f.Enter(t.Context(), "uid")
	began, written := time.Now(), make(chan error, 1)
	go func() { written <- f.write(ctx, http.MethodPatch) }()
	var err error
	select {
	case <-f.arrived:
		f.server.CloseClientConnections()
		err = <-written
	case err = <-written: // its time was over before it was sent
	}
	if err == nil {
		t.Fatal("a write without an answer is said to be answered")
	}
	leave()
	passOf(ctx).grant.drain(t.Context(), 0)
	if took := time.Since(began); took < f.timing.write {
		t.Errorf("it was given up after %s, where a write may take effect for %s", took, f.timing.write)
	}
}

func TestOthersAreNotCovered(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	one, other := uidIn(f, 0), uidIn(f, 1)
	ctx, leave, _ := f.Enter(t.Context(), one)
	defer leave()
	if !f.Covers(ctx, one) || f.Covers(ctx, other) || f.Covers(t.Context(), one) || f.Covers(f.Outside(ctx), one) {
		t.Error("work on an object of one slot covers another one")
	}
}

// uidIn returns a UID of a slot.
func uidIn(f *fenced, slot int) types.UID {
	for {
		if uid := uuid.NewUUID(); f.assignment.parsed.SlotOf(uid) == slot {
			return uid
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct {
		slots int
		lease time.Duration
		text  string
	}{
		{0, lease, "0 shards: want 1 to 64"},
		{65, lease, "65 shards: want 1 to 64"},
		{3, 1500 * time.Millisecond, "a lease of 1.5s: want whole seconds, 2s to 1h0m0s"},
		{3, 1000 * time.Hour, "a lease of 1000h0m0s: want whole seconds, 2s to 1h0m0s"},
	} {
		if _, err := New(Config{Slots: bad.slots, Lease: bad.lease}); err == nil || err.Error() != bad.text {
			t.Errorf("%d shards with a lease of %s: %v, want %s", bad.slots, bad.lease, err, bad.text)
		}
	}
}
