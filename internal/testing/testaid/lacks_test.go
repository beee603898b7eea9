package testaid_test

import (
	"fmt"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// recorder is a test that records how it ends.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) { r.ended = "skipped: " + fmt.Sprint(args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "failed: " + fmt.Sprintf(format, args...)
	panic(r)
}

func ending(t *testing.T) (ended string) {
	r := &recorder{TB: t}
	defer func() {
		_ = recover()
		ended = r.ended
	}()
	testaid.Lacks(r, "no %s", "runc")
	return r.ended
}

func TestLacks(t *testing.T) {
	t.Setenv(testaid.NoSkips, "")
	if got := ending(t); got != "skipped: no runc" {
		t.Error(got)
	}
	t.Setenv(testaid.NoSkips, "1")
	if got := ending(t); got != "failed: no runc; with OPERON_NO_SKIPS, no test may be skipped for what the machine lacks" {
		t.Error(got)
	}
}
