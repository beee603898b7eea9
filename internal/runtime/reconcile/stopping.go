package reconcile

import (
	"context"
	"time"

	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// finish returns a context for a reconcile that outlives the operator's context by some time, so that
// writes are not cut off halfway, and reads not reported as failed. Only the first read of a whole kind is
// given up earlier: nothing is lost with it, and it may never end if the API server is unreachable. The context ends after
// release, and at once if the object belongs to another replica.
func finish(ctx context.Context) (_ context.Context, release func()) {
	own, cancel := context.WithCancel(watches.Until(context.WithoutCancel(ctx), ctx))
	stopped := context.AfterFunc(ctx, func() {
		if shard.Lost(ctx) {
			cancel()
			return
		}
		timer := time.AfterFunc(timing.finishing, cancel)
		context.AfterFunc(own, func() { timer.Stop() })
	})
	return own, func() {
		stopped()
		cancel()
	}
}
