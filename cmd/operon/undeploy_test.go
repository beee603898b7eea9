package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

// If there is nothing to remove, this was already reported, and nothing else is printed.
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

// Only the name of the operator confirms that data is deleted.
func TestDeletionIsConfirmedByName(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"web\n": true, " web \n": true, "web": true, "\n": false, "yes\n": false, "": false} {
		var out bytes.Buffer
		got, err := confirmDeletion(strings.NewReader(answer), &out)(deploy.DataDeletion{Operator: "web", CRDs: []string{"apps.example.com", "jobs.example.com"}, Objects: 3})
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", answer, got, err)
		}
		if want := "CRD apps.example.com, CRD jobs.example.com and 3 custom resources? This cannot be undone.\nType web"; !strings.Contains(out.String(), want) {
			t.Errorf("asked %q", out.String())
		}
	}
}
