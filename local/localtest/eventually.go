package localtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// Patience is how long Eventually waits by default. It is much longer than a cluster takes on a machine that is
// busy with other tests.
const Patience = 5 * time.Minute

// patienceVariable names the variable that sets another, such as 10m, for machines that are much slower.
const patienceVariable = "OPERON_TEST_PATIENCE"

// interval is how often a condition is looked at, at first. What takes long is looked at less and less
// often, so that tests do not take the processors from what they wait for: it is seen a tenth later than
// it came, and never later than slowest.
const (
	interval = 20 * time.Millisecond
	slowest  = 250 * time.Millisecond
)

// Eventually calls check until it returns nil. After Patience, or the duration in $OPERON_TEST_PATIENCE (10m, for
// example), it fails the test with what it waited for and the error of the last check that returned in time. The
// context of check is canceled when the waiting ends.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	limit, err := patience()
	if err != nil {
		t.Fatalf("%v", err)
	}
	Within(t, limit, what, check)
}

func patience() (time.Duration, error) {
	said := os.Getenv(patienceVariable)
	if said == "" {
		return Patience, nil
	}
	limit, err := time.ParseDuration(said)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("%s is %q: want a time such as 10m", patienceVariable, said)
	}
	return limit, nil
}

// Within is Eventually with its own time limit.
func Within(t testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := poll(ctx, check); err != nil {
		t.Fatalf("waited %s for %s: %v", limit, what, err)
	}
}

// Receive waits until a value arrives on a channel or the channel is closed, for as long as Eventually does.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	limit, err := patience()
	if err != nil {
		t.Fatalf("%v", err)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got := <-from:
		return got
	case <-timer.C:
		t.Fatalf("waited %s for %s", limit, what)
		panic("unreachable") // Fatalf does not return, which the compiler does not know
	}
}

// Always calls check repeatedly for a duration, and fails the test at its first error. Use it for what must not
// happen, with a duration much longer than the time in which it would happen.
func Always(t testing.TB, during time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := check(ctx); err != nil && ctx.Err() == nil {
			t.Fatalf("%s did not hold: %v", what, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll calls check until it returns nil or ctx ends, and returns its last error that is not
// due to ctx.
func poll(ctx context.Context, check func(context.Context) error) error {
	began := time.Now()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	last := context.Cause(ctx)
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		timer.Reset(min(max(time.Since(began)/10, interval), slowest))
		select {
		case <-ctx.Done():
			return last
		case <-timer.C:
		}
	}
}
