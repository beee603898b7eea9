package watches

import (
	"context"
	"fmt"
	"sync"
)

// opening is the start of an informer: it has to list and to watch. If one of them fails, the start fails with the
// error of the API server. An informer itself would retry forever and only log the error, which is wrong for a
// permission that is missing.
//
// The informer's own requests are used because separate ones are slow: the API server answers a list or watch from
// the newest version only when its cache has caught up with etcd, which it asks every 100 ms
// (k8s.io/apiserver/pkg/storage/cacher/progress).
type opening struct {
	kind            string
	watching, ended chan struct{}
	watch, once     sync.Once
	err             error // set before ended is closed
}

func newOpening(kind string) *opening {
	return &opening{kind: kind, watching: make(chan struct{}), ended: make(chan struct{})}
}

// watches records that a watch is open.
func (o *opening) watches() { o.watch.Do(func() { close(o.watching) }) }

// end ends the start, with the error if it has failed. It returns false if the start had ended before.
func (o *opening) end(err error) (first bool) {
	o.once.Do(func() {
		o.err, first = err, true
		close(o.ended)
	})
	return first
}

// wait waits until everything is listed and watched, and returns the error of a start that has failed.
func (o *opening) wait(ctx, life context.Context, listed <-chan struct{}) error {
	for _, event := range []<-chan struct{}{listed, o.watching} {
		select {
		case <-event:
		case <-o.ended:
			return o.err
		case <-life.Done():
			o.end(fmt.Errorf("watch %s: it ended before everything was read", o.kind))
		case <-ctx.Done():
			o.end(fmt.Errorf("watch %s: not everything was read in time: %w", o.kind, ctx.Err()))
		}
	}
	o.end(nil)
	<-o.ended
	return o.err
}
