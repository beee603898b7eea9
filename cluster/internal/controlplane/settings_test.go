package controlplane

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

func TestApply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		base, user Settings
		want       int
		complaint  string
	}{
		{name: "base", base: Settings{"workers": "3"}, want: 3},
		{name: "the user wins", base: Settings{"workers": "3"}, user: Settings{"workers": "5"}, want: 5},
		{name: "unknown", user: Settings{"wrokers": "5"}, complaint: `thing has no setting "wrokers"`},
		{name: "wrong value", user: Settings{"workers": "many"}, complaint: `setting "workers"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var sets cliflag.NamedFlagSets
			var got int
			sets.FlagSet("generic").IntVar(&got, "workers", 0, "")
			err := apply("thing", sets, test.base, test.user)
			if test.complaint != "" {
				if err == nil || !strings.Contains(err.Error(), test.complaint) {
					t.Fatalf("error %v, want one with %q", err, test.complaint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("workers %d, want %d", got, test.want)
			}
		})
	}
}

func TestApplyLeavesSettingsAlone(t *testing.T) {
	t.Parallel()
	var sets cliflag.NamedFlagSets
	sets.FlagSet("generic").AddFlag(&pflag.Flag{Name: "x", Value: new(discard)})
	base := Settings{"x": "1"}
	if err := apply("thing", sets, base, Settings{"x": "2"}); err != nil {
		t.Fatal(err)
	}
	if base["x"] != "1" {
		t.Errorf("apply changed its argument to %q", base["x"])
	}
}

type discard struct{}

func (discard) Set(string) error { return nil }
func (discard) String() string   { return "" }
func (discard) Type() string     { return "discard" }

func TestJoinSwitches(t *testing.T) {
	t.Parallel()
	if got, want := joinSwitches(map[string]bool{"B": false, "A": true}), "A=true,B=false"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
