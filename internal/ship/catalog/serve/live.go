package serve

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/operon-framework/operon/internal/ship/catalog/store"
)

// live is the store that is served at the moment.
type live struct {
	mu      sync.Mutex
	current *held
	// used reports whether there were queries since memory was returned to the system.
	used atomic.Bool
	// damaged receives a value when a query finds the cache damaged.
	damaged chan struct{}
}

// held is a store with the queries that use it.
type held struct {
	*store.Store
	queries sync.WaitGroup
}

func newLive(s *store.Store) *live {
	l := &live{current: &held{Store: s}, damaged: make(chan struct{}, 1)}
	l.used.Store(true) // the start counts
	return l
}

// use calls a query with the store. The store stays open until the query ends.
func (l *live) use(query func(*store.Store) error) error {
	l.mu.Lock()
	now := l.current
	now.queries.Add(1)
	l.mu.Unlock()
	defer now.queries.Done()
	l.used.Store(true)
	err := query(now.Store)
	if errors.Is(err, store.ErrCorrupt) {
		select {
		case l.damaged <- struct{}{}:
		default: // it is known
		}
	}
	return err
}

// swap replaces the store, and closes the old one when no query uses it any more. closed gets the result.
func (l *live) swap(s *store.Store, closed func(error)) {
	l.mu.Lock()
	old := l.current
	l.current = &held{Store: s}
	l.mu.Unlock()
	l.used.Store(true) // its cache was built
	go func() {
		old.queries.Wait()
		closed(old.Close())
	}()
}
