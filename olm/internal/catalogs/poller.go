package catalogs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionv1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
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
	if uid := p.uidOf(of); uid != "" && uid != object.GetUID() { // the content of a deleted object is not that of the next one with its name
		p.Forget(of)
	}
	if period > 0 {
		period = max(timing.retry, period)
	}
	if left, due := p.due(object, place, period); !due {
		return left, p.Last(of)
	}
	_, err := p.Catalogs.Load(ctx, object, place)
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

// uidOf returns the UID of the object for which a catalog was read last, or an empty one.
func (p *Poller) uidOf(of types.NamespacedName) types.UID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read[of].uid
}

// Connect makes the poller forget the catalogs of objects that are deleted. They have no finalizer, so that nothing else tells it.
func (p *Poller) Connect(manager ctrl.Manager) error {
	for _, kind := range []client.Object{&v1alpha1.CatalogSource{}, &extensionv1.ClusterCatalog{}} {
		informer, err := manager.GetCache().GetInformer(context.Background(), kind)
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: p.deleted}); err != nil {
			return err
		}
	}
	return nil
}

// deleted forgets the catalog of an object, unless it is that of another one with the same name by now.
func (p *Poller) deleted(object any) {
	if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = last.Obj
	}
	if one, is := object.(client.Object); is && p.uidOf(client.ObjectKeyFromObject(one)) == one.GetUID() {
		p.Forget(client.ObjectKeyFromObject(one))
	}
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
