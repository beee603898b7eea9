package operontest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a test whose failures are recorded.
type recorder struct {
	testing.TB

	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Helper()           {}
func (r *recorder) Logf(string, ...any) {
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// failuresOf runs a test and returns its failures.
func failuresOf(t *testing.T, test func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(r)
	}()
	<-ended
	for _, cleanup := range r.cleanups {
		cleanup()
	}
	return strings.Join(r.failures, "\n")
}

// fails checks that a test fails, and that its output contains each of the texts.
func fails(t *testing.T, test func(testing.TB), texts ...string) {
	t.Helper()
	failures := failuresOf(t, test)
	if failures == "" {
		t.Errorf("the test does not fail; it should say %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(failures, text) {
			t.Errorf("the test does not say %q, but:\n%s", text, failures)
		}
	}
}
