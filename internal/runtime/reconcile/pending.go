package reconcile

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/condition"
)

// messagePeriod is how long a status is held back whose only news is the message of a
// condition. Children that become ready go through several of them within a moment, and
// each would be a write.
const messagePeriod = time.Second

// pending knows since when a status is held back, for the objects of one kind.
type pending struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// hold returns how much longer the status is to be held back, 0 when it is to be written
// or nothing is.
func (p *pending) hold(key types.NamespacedName, onlyMessages bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !onlyMessages {
		delete(p.since, key)
		return 0
	}
	if p.since == nil {
		p.since = map[types.NamespacedName]time.Time{}
	}
	since, held := p.since[key]
	if !held {
		p.since[key] = now
		return messagePeriod
	}
	if left := messagePeriod - now.Sub(since); left > 0 {
		return left
	}
	delete(p.since, key)
	return 0
}

// onlyMessages tells whether the status has news, and none but messages of conditions.
func (p *pass[T]) onlyMessages() (bool, error) {
	if reflect.DeepEqual(statusOf(p.before), statusOf(p.object)) {
		return false, nil
	}
	before, after := p.before.DeepCopyObject(), p.object.DeepCopyObject()
	for _, object := range []any{before, after} {
		conditions, err := condition.Of(object)
		if err != nil {
			return false, err
		}
		conditions.DropMessages()
		dropSteps(object)
	}
	return reflect.DeepEqual(statusOf(before), statusOf(after)), nil
}
