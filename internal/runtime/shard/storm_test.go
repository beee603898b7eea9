package shard

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// replica is a member in a storm.
type replica struct {
	*Member
	wire *wired
	stop context.CancelFunc
	over chan struct{}

	mu sync.Mutex
	// open are the slots that it has to work on.
	open map[int]bool
}

func (r *replica) opened(slot int) { r.set(slot, true) }
func (r *replica) closed(slot int) { r.set(slot, false) }

func (r *replica) set(slot int, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[slot] = open
}

// works reports whether a replica may write an object now, and whether it was notified of its slot.
func (r *replica) works(uid types.UID) (may, told bool) {
	r.Member.mu.Lock()
	g, slot := r.assignment.grantOf(uid)
	may = g != nil && r.heartbeat.isValid()
	r.Member.mu.Unlock()
	if !may {
		return false, false
	}
	g.mu.Lock()
	may = !g.revoked
	g.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return may, r.open[slot]
}

// drifting is a clock that is wrong, and whose speed is wrong by less than members tolerate.
type drifting struct {
	began time.Time
	ahead time.Duration
	fast  float64
}

// Now implements clock.PassiveClock.
func (d drifting) Now() time.Time {
	passed := time.Since(d.began)
	return d.began.Add(d.ahead + passed + time.Duration(float64(passed)*d.fast))
}

// Since implements clock.PassiveClock.
func (d drifting) Since(at time.Time) time.Duration { return d.Now().Sub(at) }

// storm is a set of replicas of one operator that is exposed to all kinds of faults.
type storm struct {
	*testing.T
	random *rand.Rand
	leases *leases
	uids   []types.UID
	// living are the replicas that were not stopped yet.
	all, living []*replica
	acts        func(*storm, *replica) map[string]func()
	// alone means that no two replicas may work on an object at any time.
	alone bool
	// told is the log of events.
	told []string
}

// Replicas start, stop, are killed and are disconnected, their requests and responses get lost and their clocks are wrong:
// no two of them may write an object at the same time, and soon after all faults have ended a replica works on each object.
func TestStormsLeaveNothingUnheld(t *testing.T) {
	t.Parallel()
	storms(t, true, (*storm).deaths)
}

// In addition, a user deletes, relabels and corrupts Leases: soon after that has ended, one replica works on each
// object. The test does not require that a replica waits until another one has noticed: see decision 0111.
func TestStormsOfEditsLeaveNothingUnheld(t *testing.T) {
	t.Parallel()
	storms(t, false, (*storm).edits)
}

// seeds is the number of storms of each kind. All errors fixed so far were found in thousands of storms.
const seeds = 200

// storms runs the storms with one kind of acts, in simulated time.
func storms(t *testing.T, alone bool, acts func(*storm, *replica) map[string]func()) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				(&storm{T: t, random: rand.New(rand.NewPCG(seed, 1)), leases: newLeases(), alone: alone, acts: acts}).run()
			})
		})
	}
}

func (s *storm) run() {
	for i := range 12 {
		s.uids = append(s.uids, types.UID(fmt.Sprint("object-", i)))
	}
	s.Cleanup(func() {
		if s.Failed() {
			s.Logf("what happened:\n%s", strings.Join(s.told, "\n"))
		}
	})
	defer s.finish()
	for range 1 + s.random.IntN(3) {
		s.add()
	}
	for range 6 {
		for range 1 + s.random.IntN(5) {
			s.act()
			s.goOn(time.Duration(s.random.Int64N(int64(3 * time.Second))))
		}
		s.calm()
	}
}

// finish ends all replicas.
func (s *storm) finish() {
	for _, r := range s.all {
		r.wire.mend()
		r.stop()
	}
	for _, r := range s.all {
		<-r.over
	}
}

// add starts a replica.
func (s *storm) add() {
	wire := &wired{leases: s.leases, random: rand.New(rand.NewPCG(s.random.Uint64(), 2)), slow: time.Millisecond << s.random.IntN(9), lossy: s.random.IntN(3) == 0}
	r := &replica{wire: wire, open: map[int]bool{}, over: make(chan struct{})}
	var err error
	r.Member, err = New(Config{
		Client: wire, Namespace: "ns", Operator: "op", Name: fmt.Sprint("r", len(s.all)+1), Slots: 4, Lease: shortest, Log: logr.Discard(),
		Clock: drifting{time.Now(), time.Duration(s.random.Int64N(int64(2*time.Minute))) - time.Minute, (s.random.Float64() - 0.5) / skew},
	})
	if err != nil {
		s.Fatal(err)
	}
	r.slots.follow(r)
	ctx, stop := context.WithCancel(s.Context())
	r.stop = stop
	go func() {
		defer close(r.over)
		_ = r.Start(ctx) // it never fails
	}()
	s.all, s.living = append(s.all, r), append(s.living, r)
}

// deaths are the faults during which replicas have to share objects.
func (s *storm) deaths(one *replica) map[string]func() {
	return map[string]func(){
		"one is cut off":          one.wire.cutOff,
		"one is connected again":  one.wire.mend,
		"one more is started":     s.addUpTo,
		"one is told to stop":     func() { s.end(one, false) },
		"one is killed":           func() { s.end(one, true) },
		"one is stopped, cut off": func() { one.wire.cutOff(); s.end(one, false) },
	}
}

// edits are deaths, and edits of Leases by a user.
func (s *storm) edits(one *replica) map[string]func() {
	acts := s.deaths(one)
	maps.Copy(acts, map[string]func(){
		"all Leases are deleted": func() { s.leases.edit(func(*coordinationv1.Lease) bool { return false }) },
		"the table is deleted":   func() { s.leases.edit(func(l *coordinationv1.Lease) bool { return !isTable(l) }) },
		"a Lease is deleted":     func() { s.leases.edit(func(*coordinationv1.Lease) bool { return s.random.IntN(3) > 0 }) },
		"all labels are lost":    func() { s.leases.edit(func(l *coordinationv1.Lease) bool { l.Labels = nil; return true }) },
		"the table is garbled":   func() { s.leases.edit(garble) },
	})
	return acts
}

// act executes an act.
func (s *storm) act() {
	one := s.living[s.random.IntN(len(s.living))]
	acts := s.acts(s, one)
	names := slices.Sorted(maps.Keys(acts))
	name := names[s.random.IntN(len(names))]
	s.told = append(s.told, fmt.Sprintf("%s %s (%s)", time.Now().Format("04:05.000"), name, one.Name))
	acts[name]()
}

func isTable(l *coordinationv1.Lease) bool { return l.Name == "op-shards" }

func garble(l *coordinationv1.Lease) bool {
	if isTable(l) {
		l.Annotations = map[string]string{TableAnnotation: "0 nonsense\n2 -\n"}
	}
	return true
}

func (s *storm) addUpTo() {
	if len(s.living) < 5 {
		s.add()
	}
}

// end ends a replica, unless it is the last one. A killed replica sends nothing more.
func (s *storm) end(one *replica, killed bool) {
	if len(s.living) == 1 {
		return
	}
	if killed {
		one.wire.cutOff()
		one.slots.revokeAll()
	}
	one.stop()
	s.living = slices.DeleteFunc(s.living, func(r *replica) bool { return r == one })
}

func (c *wired) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut == nil {
		c.cut = make(chan struct{})
	}
}

func (c *wired) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		close(c.cut)
		c.cut = nil
	}
}

// goOn advances time, and checks continuously whether two replicas have the same object.
func (s *storm) goOn(while time.Duration) {
	for until := time.Now().Add(while); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		for _, uid := range s.uids {
			if workers, _ := s.workers(uid); s.alone && len(workers) > 1 {
				s.Fatalf("%s: %s is worked on by %q", time.Now().Format("04:05.000"), uid, workers)
			}
		}
	}
}

// workers returns the replicas that may write an object, and whether one of them was notified of its slot.
func (s *storm) workers(uid types.UID) (workers []string, told bool) {
	for _, r := range s.living {
		may, one := r.works(uid)
		if may {
			workers = append(workers, r.Name)
		}
		told = told || one
	}
	return workers, told
}

// calm ends all faults, and waits until each object belongs to one replica. Watches that broke repeatedly
// are retried after a minute at most.
func (s *storm) calm() {
	for _, r := range s.living {
		r.wire.mend()
	}
	s.told = append(s.told, time.Now().Format("04:05.000")+" all is well")
	for until := time.Now().Add(3 * time.Minute); ; s.goOn(20 * time.Millisecond) {
		amiss := slices.IndexFunc(s.uids, func(uid types.UID) bool {
			workers, told := s.workers(uid)
			return len(workers) != 1 || !told
		})
		if amiss < 0 {
			return
		}
		if time.Now().After(until) {
			workers, _ := s.workers(s.uids[amiss])
			s.Fatalf("three minutes after all is well %q work on %s", workers, s.uids[amiss])
		}
	}
}
