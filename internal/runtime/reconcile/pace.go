package reconcile

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
)

// stepPace names the step, for what only it can end a pass with.
const stepPace = "pace"

// Rate bounds how often one object is reconciled: Burst times at once, and then once Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// DefaultRate is three times what an object with 80 children, 40 of them Deployments, took
// to converge, so that nothing waits but what goes round in circles.
var DefaultRate = Rate{Burst: 60, Every: time.Second}

const (
	// stormTold is how long an object's reconciles are delayed before the user is told.
	stormTold = 30 * time.Second
	// stormToldAgain is when the user is told again of a storm that goes on.
	stormToldAgain = 10 * time.Minute
)

// pace ends the pass of an object that is reconciled too often, until it may be again. What
// happens meanwhile is not lost: that pass will read all of it.
func (r *Reconciler[T]) pace(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	left, storm := r.buckets.take(p.request.NamespacedName, p.object.GetUID(), r.Clock.Now())
	if left > 0 {
		p.over = true
		return outcome.Retry(left, "", ""), nil
	}
	if storm {
		p.warning("Delayed", "Reconcile", "reconciled too often, now because %s; until that ends it is reconciled once every %s",
			p.whatStorms(), r.Rate.Every)
	}
	return outcome.Done(), nil
}

// whatStorms is what the pass is for, other than that it was delayed before.
func (p *pass[T]) whatStorms() string {
	var storm trigger.Gathered
	for _, c := range p.record.Causes {
		if c.Kind != trigger.Delayed {
			storm.Add(c)
		}
	}
	return cmp.Or(strings.Join(storm.Summary(), ", "), "something changes all the time")
}

// buckets hold a token bucket for each object of a kind that was reconciled of late. A full
// one is dropped, as it says no more than none.
type buckets struct {
	Rate
	clock clock.PassiveClock

	mu       sync.Mutex
	held     map[types.NamespacedName]*bucket
	sweeping bool // a sweep is to come
}

// bucket is that of one object.
type bucket struct {
	uid    types.UID
	tokens *rate.Limiter
	// storm is since when passes are delayed, told when the user last heard of it.
	storm, told time.Time
}

func newBuckets(r Rate, c clock.PassiveClock) *buckets {
	return &buckets{Rate: r, clock: c, held: map[types.NamespacedName]*bucket{}}
}

// take takes a token for a pass. Without one it returns how long the pass has to wait. storm
// tells that the user is to hear of a storm.
func (b *buckets) take(key types.NamespacedName, uid types.UID, now time.Time) (left time.Duration, storm bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweepLater()
	own := b.held[key]
	if own == nil || own.uid != uid {
		own = &bucket{uid: uid, tokens: rate.NewLimiter(rate.Every(b.Every), b.Burst)}
		b.held[key] = own
	}
	if own.tokens.TokensAt(now) > float64(b.Burst)/2 {
		own.storm, own.told = time.Time{}, time.Time{} // it was quiet for long enough
	}
	if !own.tokens.AllowN(now, 1) {
		if own.storm.IsZero() {
			own.storm = now
		}
		return b.until(own, now), false
	}
	return 0, own.tell(now)
}

// until is how long it takes until there is a token.
func (b *buckets) until(own *bucket, now time.Time) time.Duration {
	missing := 1 - own.tokens.TokensAt(now)
	return max(time.Duration(missing*float64(b.Every)), time.Millisecond)
}

// tell tells whether the user is to hear of a storm now.
func (own *bucket) tell(now time.Time) bool {
	if own.storm.IsZero() || now.Sub(own.storm) < stormTold || !own.told.IsZero() && now.Sub(own.told) < stormToldAgain {
		return false
	}
	own.told = now
	return true
}

// forget drops the bucket of an object that is gone.
func (b *buckets) forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.held, key)
}

// sweepLater lets buckets be swept when an empty one would be full. The lock is held.
func (b *buckets) sweepLater() {
	if !b.sweeping {
		b.sweeping = true
		time.AfterFunc(max(time.Duration(b.Burst)*b.Every, time.Second), b.sweep)
	}
}

// sweep drops buckets that are full.
func (b *buckets) sweep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	maps.DeleteFunc(b.held, func(_ types.NamespacedName, own *bucket) bool {
		return own.tokens.TokensAt(now) >= float64(b.Burst)
	})
	b.sweeping = false
	if len(b.held) > 0 {
		b.sweepLater()
		return
	}
	b.held = map[types.NamespacedName]*bucket{} // an emptied map keeps its size
}
