package proxy

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
)

// view is an earlier state that an operator sees instead of the current one: all objects at one version.
type view struct {
	fault fault.Fault
	// at is the newest version that is shown.
	at uint64
	// since is the number of the first instance that sees the view.
	since int
	// begun is closed when the first of these instances sends a request. beganAt is the time of that.
	begun   chan struct{}
	beganAt time.Time
	over    bool
}

// isOf reports whether an instance sees a resource through the view.
func (v *view) isOf(resource string, instance int) bool {
	return !v.over && instance >= v.since && (v.fault.View == "" || v.fault.View == resource)
}

// views contains the views that are currently frozen, and the versions from which
// watches can no longer begin.
type views struct {
	mu      sync.Mutex
	frozen  []*view
	epochs  map[string]int        // how often the watches of a resource were ended; "" for all resources
	floors  map[string]uint64     // by resource: older versions were compacted
	blind   map[watcher]time.Time // whose watches were ended, and when
	changed chan struct{}         // closed when any of these fields changes
}

// watcher is an instance that watches some objects of a resource.
type watcher struct {
	resource, namespace, labels, fields string
	instance                            int
}

func newViews() *views {
	return &views{epochs: map[string]int{}, floors: map[string]uint64{}, blind: map[watcher]time.Time{}, changed: make(chan struct{})}
}

// change changes the views and wakes the watches.
func (v *views) change(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
	close(v.changed)
	v.changed = make(chan struct{})
}

// in returns the views that hide a version of a resource from an instance, how often the watches of the resource were
// ended, and a channel that is closed when that changes.
func (v *views) in(resource string, instance int, version uint64) (by []*view, epoch int, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, each := range v.frozen {
		if each.isOf(resource, instance) && version > each.at {
			by = append(by, each)
		}
	}
	return by, v.epochs[""] + v.epochs[resource], v.changed
}

// at returns the version at which an instance sees a resource, or false if it sees the current state.
func (v *views) at(resource string, instance int) (uint64, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := uint64(math.MaxUint64)
	for _, each := range v.frozen {
		if each.isOf(resource, instance) {
			at = min(at, each.at)
		}
	}
	return at, at != math.MaxUint64
}

// any reports whether a view is frozen.
func (v *views) any() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.frozen) > 0
}

// frozenFor reports whether an instance sees an earlier state of some resource: a view is frozen, or its watch was ended and it has not begun
// another one. Clients wait about a second before they do.
func (v *views) frozenFor(instance int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for one, since := range v.blind {
		if one.instance == instance && time.Since(since) < timing.blind {
			return true
		}
	}
	return slices.ContainsFunc(v.frozen, func(each *view) bool { return each.isOf(each.fault.View, instance) })
}

// blinds records that a watch was ended.
func (v *views) blinds(one watcher) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.blind[one] = time.Now()
}

// sees records that a watch begins.
func (v *views) sees(one watcher) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.blind, one)
}

// relist ends the watches of a resource, or of all resources if it is empty.
func (v *views) relist(resource string) { v.change(func() { v.epochs[resource]++ }) }

// compact prevents watches of a resource from beginning before a version.
func (v *views) compact(resource string, before uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.floors[resource] = max(v.floors[resource], before)
}

// compacted reports whether a watch of a resource can no longer begin at a version.
func (v *views) compacted(resource string, at uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return at < v.floors[resource]
}

// come records that an instance sent a request. At that time its view of an earlier state begins.
func (v *views) come(instance int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, each := range v.frozen {
		if each.beganAt.IsZero() && instance >= each.since {
			each.beganAt = time.Now()
			close(each.begun)
		}
	}
}

// end ends a view. The operator sees the current state again, without the discarded events of a Skip.
func (v *views) end(one *view) {
	v.change(func() {
		one.over = true
		v.frozen = slices.DeleteFunc(v.frozen, func(each *view) bool { return each == one })
	})
}

// freeze hides everything newer than a version from all instances with at least the number since, until they are quiet.
func (p *Proxy) freeze(f fault.Fault, at uint64, since int) {
	one := &view{fault: f, at: at, since: since, begun: make(chan struct{})}
	if since == 0 {
		one.beganAt = time.Now()
		close(one.begun)
	}
	p.views.change(func() { p.views.frozen = append(p.views.frozen, one) })
	p.inside.Add(1)
	go func() {
		defer p.inside.Done()
		p.untilQuiet(one)
		p.views.end(one)
		p.meter.change(nil)
	}()
}

// slowness returns the slowness of the cluster.
func (p *Proxy) slowness() float64 {
	if p.options.Slowness == nil {
		return 1
	}
	return p.options.Slowness()
}

func scaled(while time.Duration, slow float64) time.Duration {
	return time.Duration(float64(while) * slow)
}

// untilQuiet returns when the operator has been quiet for as long as a view requires, or when the maximum duration of the
// view is over. On a slow cluster both times are longer, because the operator's work takes longer, too.
func (p *Proxy) untilQuiet(one *view) {
	select {
	case <-one.begun:
	case <-p.alive.Done():
		return
	}
	slow := p.slowness()
	ctx, cancel := context.WithDeadline(p.alive, one.beganAt.Add(scaled(one.fault.For.Duration, slow)))
	defer cancel()
	for {
		now, changed := p.meter.read()
		last := now.Last
		if last.Before(one.beganAt) {
			last = one.beganAt
		}
		var quiet <-chan time.Time
		if now.Open == 0 {
			left := time.Until(last.Add(scaled(one.fault.Quiet.Duration, slow)))
			if left <= 0 {
				return
			}
			quiet = time.After(left)
		}
		select {
		case <-quiet:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
