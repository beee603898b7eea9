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

// patienceVariable is the environment variable that sets another duration, such as 10m, for much slower machines.
const patienceVariable = "OPERON_TEST_PATIENCE"

// interval is the initial interval between checks of a condition. It grows with the waiting time up to slowest, so that
// checks do not use the CPU time that the awaited change needs. A change is detected with a delay of at most a tenth of
// the waiting time.
const (
	interval = 20 * time.Millisecond
	slowest  = 250 * time.Millisecond
)

// Eventually calls check until it returns nil. After Patience, or the duration in $OPERON_TEST_PATIENCE (10m, for
// example), it fails the test with the description of the condition and the error of the last check that returned in
// time. The context of check is canceled when the wait ends.
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

// Always calls check repeatedly for a duration, and fails the test at its first error. Use it to check that something
// does not happen, with a duration much longer than the time in which it would happen.
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

// poll calls check until it returns nil or ctx ends. It returns the last error that is not caused by ctx.
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
