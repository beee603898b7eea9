package catalogs

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Poller reads catalogs, and again when their period has passed or they could not be read.
type Poller struct {
	Clock    clock.PassiveClock
	Catalogs *Catalogs

	mu   sync.Mutex
	read map[types.NamespacedName]reading
}

// reading is when a catalog was read last, and the result.
type reading struct {
	at         time.Time
	uid        types.UID
	generation int64
	version    string
	err        error
}

// Poll reads a catalog if that is due: the first time for an object, for each generation of it, and for each version
// of its place, and after the period, unless that is 0. It returns when to call it again, or 0 for never, and why the catalog could not be read
// the last time.
func (p *Poller) Poll(ctx context.Context, object client.Object, place Place, period time.Duration) (time.Duration, error) {
	of := client.ObjectKeyFromObject(object)
	if period > 0 {
		period = max(timing.retry, period)
	}
	if left, due := p.due(object, place, period); !due {
		return left, p.Last(of)
	}
	_, err := p.Catalogs.Load(ctx, of, place)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read == nil {
		p.read = map[types.NamespacedName]reading{}
	}
	p.read[of] = reading{p.Clock.Now(), object.GetUID(), object.GetGeneration(), place.Version, err}
	if err != nil {
		return timing.retry, err
	}
	return period, nil
}

// due reports whether a catalog has to be read now, and otherwise how long it is until then, or 0 for never.
func (p *Poller) due(object client.Object, place Place, period time.Duration) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.read[client.ObjectKeyFromObject(object)]
	if !known || last.uid != object.GetUID() || last.generation != object.GetGeneration() || last.version != place.Version {
		return 0, true
	}
	if last.err != nil {
		period = timing.retry
	}
	left := period - p.Clock.Now().Sub(last.at)
	return max(0, left), period > 0 && left <= 0
}

// Last returns why a catalog could not be read the last time.
func (p *Poller) Last(of types.NamespacedName) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read[of].err
}

// Forget removes a catalog, which is read again when it is polled.
func (p *Poller) Forget(of types.NamespacedName) {
	p.Catalogs.Forget(of)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.read, of)
}
