package oracle

import "testing"

func TestWordsOfProblems(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]struct{ isTrue, isFalse bool }{
		"Ready":           {false, true},
		"ClusterHealthy":  {false, true},
		"TLSReady":        {false, true},
		"InvalidSpec":     {true, false},
		"ReconcileError":  {true, false},
		"TLSError":        {true, false},
		"ReplicaFailure":  {true, false},
		"Unavailable":     {true, false},
		"NotReady":        {true, false},
		"NoErrors":        {false, true},
		"HasNoErrors":     {false, true},
		"NonDegraded":     {false, true},
		"UpdateAvailable": {},
		"Progressing":     {},
		"Completed":       {},
		"":                {},
	} {
		if isProblem(condition, "True") != want.isTrue || isProblem(condition, "False") != want.isFalse || isProblem(condition, "Unknown") {
			t.Errorf("%s: a problem is not %+v", condition, want)
		}
	}
	for phase, want := range map[string]bool{
		"Failed": true, "update-failed": true, "CreateFailed": true, "error": true, "ConfigurationInvalid": true, "INVALID": true,
		"Running": false, "no-errors": false, "noErrors": false, "NotReady": false, "Pending": false, "": false,
	} {
		if isFailure(phase) != want {
			t.Errorf("phase %s: a problem is not %v", phase, want)
		}
	}
}
