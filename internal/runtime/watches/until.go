package watches

import (
	"context"
	"time"
)

// untilKey is the context key of the end of waiting for watches.
type untilKey struct{}

// Until returns a context in which calls wait only briefly for a watch to start after stop has ended, even though
// the context itself continues.
func Until(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, untilKey{}, stop)
}

// whenStopped calls cancel some time after the context's Until ends, unless it is canceled before.
func whenStopped(ctx context.Context, cancel context.CancelFunc) (off func() bool) {
	stop, ok := ctx.Value(untilKey{}).(context.Context)
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(stop, func() {
		timer := time.AfterFunc(timing.lastPatience, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
}
