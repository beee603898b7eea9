package flagerror_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/internal/tools/flagerror"
)

// For each type of flag value, the error describes the valid values, and not how the value was parsed.
func TestReworded(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"--length=x":                    "--length=x: want a whole number",
		"--length=99999999999999999999": "--length=99999999999999999999: want a whole number, and a smaller one",
		"--seed=-1":                     "--seed=-1: want a whole number, not less than 0",
		"--again=maybe":                 "--again=maybe: want true or false",
		"--within=5":                    "--within=5: want a duration such as 30s or 5m",
		"--share=half":                  "--share=half: want a number",
		"--colour=red":                  "--colour=red: want green",
		"--none":                        "unknown flag: --none",
	} {
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		set.Int("length", 0, "")
		set.Uint64("seed", 0, "")
		set.Bool("again", false, "")
		set.Duration("within", time.Second, "")
		set.Float64("share", 0, "")
		set.Func("colour", "", func(string) error { return errors.New("want green") })
		if err := flagerror.Reworded(set.Parse([]string{given})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
	if err := flagerror.Reworded(nil); err != nil {
		t.Error(err)
	}
}
