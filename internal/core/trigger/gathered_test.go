package trigger

import "testing"

// A Gathered that joined others continues counting while the joined ones may still be read.
func TestJoinLeavesWhatWasGathered(t *testing.T) {
	t.Parallel()
	var before, after Gathered
	before.Add(Cause{Kind: OperatorStarted})
	after.Join(before)
	after.Add(Cause{Kind: OperatorStarted})
	if before.Causes[0].Times > 1 || after.Causes[0].Times != 2 {
		t.Errorf("counted %d before and %d after, want 1 and 2", before.Causes[0].Times, after.Causes[0].Times)
	}
}
