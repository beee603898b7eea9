package cron_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/cron"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// A file has a schedule on its first line, a time zone on the second, a time on the third, and below the
// next five times.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 10, func(t *testing.T, given string) string {
		t.Helper()
		lines := strings.Split(given, "\n")
		schedule, err := cron.Parse(lines[0], lines[1])
		if err != nil {
			return err.Error() + "\n"
		}
		at, err := time.Parse(time.RFC3339, lines[2])
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for range 5 {
			at = schedule.Next(at)
			fmt.Fprintln(&out, at.Format(time.RFC3339))
		}
		return out.String()
	})
}

// Any text is either rejected, or due later, at a whole minute.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "*/5 1-3,7 1 jan-mar/2 sun", "@daily", "0 0 29 2 *", "60 * * * *", "TZ=", "@every 1s", ""} {
		f.Add(seed, int64(1_700_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		schedule, err := cron.Parse(text, "Europe/Berlin")
		if err != nil {
			return
		}
		now := time.Unix(at%4_000_000_000, 0)
		if next := schedule.Next(now); !next.After(now) || next.Second() != 0 {
			t.Errorf("%q is due at %s after %s", text, next, now)
		}
	})
}
