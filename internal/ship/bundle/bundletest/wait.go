package bundletest

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// poll calls look until it is done.
func poll(ctx context.Context, look func() (bool, error)) error {
	tick := time.NewTicker(timing.interval)
	defer tick.Stop()
	for {
		done, err := look()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// idleError is the error of a wait without progress.
type idleError struct {
	state string
	after time.Duration
}

func (e *idleError) Error() string { return fmt.Sprintf("%s (nothing new for %s)", e.state, e.after) }

// look reports whether a wait is over, and its state in words. still is the time for which the state has not changed.
type look func(still time.Duration) (done bool, state string, err error)

// digits are numbers in a state, such as the seconds of a back-off. A state that differs only in them is not new.
var digits = regexp.MustCompile(`[0-9]+`)

// await calls look until it is done, or has reported no state that is new for the idle time, or the operator has ended.
func (t *test) await(ctx context.Context, look look) error {
	seen, last, changed, fresh := map[string]bool{}, "", time.Now(), time.Now()
	return poll(ctx, func() (bool, error) {
		done, state, err := look(time.Since(changed))
		if done || err != nil {
			return done, err
		}
		if err := t.operator.ended(); err != nil {
			return false, err
		}
		if state != last {
			last, changed = state, time.Now()
		}
		if kind := digits.ReplaceAllString(state, "0"); !seen[kind] {
			seen[kind], fresh = true, time.Now()
		}
		if time.Since(fresh) > t.Idle {
			return false, &idleError{state, t.Idle}
		}
		return false, nil
	})
}
