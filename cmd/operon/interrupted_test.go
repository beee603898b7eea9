package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

// A user who interrupts a command still reads what it leaves in the cluster.
func TestWhatAnInterruptionLeaves(t *testing.T) {
	t.Parallel()
	left := &deploy.LeftError{Err: context.Canceled, Left: "the old pods keep running"}
	for _, test := range []struct {
		interrupted bool
		err         error
		want        string
		code        int
	}{
		{true, fmt.Errorf("deploy: %w", left), "operon: interrupted\nthe old pods keep running\n", exitInterrupted},
		{true, context.Canceled, "operon: interrupted\n", exitInterrupted},
		{true, &deploy.LeftError{Err: context.Canceled, Left: hostile}, "operon: interrupted\n" + cleaned + "\n", exitInterrupted},
		{false, left, "operon: context canceled\nthe old pods keep running\n", exitFailed},
	} {
		var out strings.Builder
		if code := fail(&out, "operon deploy", test.interrupted, test.err); code != test.code || out.String() != test.want {
			t.Errorf("exit code %d, printed %q; want %d and %q", code, &out, test.code, test.want)
		}
	}
}
