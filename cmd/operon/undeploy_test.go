package main

import (
	"bytes"
	"testing"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

// That there is nothing to remove is said by then, and is all that there is to say.
func TestWhatIsToldOfARemoval(t *testing.T) {
	t.Parallel()
	for want, removal := range map[string]deploy.Removal{
		"": {Operator: "web", Cluster: "staging", Absent: true},
		"removed 1 object of web from staging, kept 0\n":                                {Operator: "web", Cluster: "staging", Removed: []string{"Namespace web-system"}},
		"would remove Namespace a\nwould remove 1 object of web from staging, kept 0\n": {Operator: "web", Cluster: "staging", Removed: []string{"Namespace a"}, DryRun: true},
	} {
		var out bytes.Buffer
		if err := printRemoved(&out, &removal); err != nil || out.String() != want {
			t.Errorf("got %q, want %q: %v", out.String(), want, err)
		}
	}
}
