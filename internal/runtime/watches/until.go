package watches

import (
	"context"
	"time"
)

// untilKey is where a context keeps when waiting for watches is to end.
type untilKey struct{}

// Until returns a context in which nobody waits for long for a watch to start after stop has ended, though
// the context itself continues.
func Until(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, untilKey{}, stop)
}

// whenStopped calls cancel some time after the context's Until ends, unless it is called off before.
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
