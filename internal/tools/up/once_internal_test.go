package up

import (
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Samples are reported at once if all that is shown is ready, and later if what is shown of the children may be old.
func TestReadySamplesAreReportedOnceTheirChildrenAreShown(t *testing.T) {
	t.Parallel()
	node := func(state tree.State, children ...*tree.Node) *tree.Node {
		return &tree.Node{State: state, Children: children}
	}
	for name, test := range map[string]struct {
		samples []*tree.Node
		lag     time.Duration
	}{
		"no samples":            {nil, 0},
		"ready children":        {[]*tree.Node{node(tree.Ready, node(tree.Ready, node(tree.Ready)))}, 0},
		"no children":           {[]*tree.Node{node(tree.Ready, node(tree.Ready)), node(tree.Ready)}, timing.childless},
		"grandchild unfinished": {[]*tree.Node{node(tree.Ready), node(tree.Ready, node(tree.Ready, node(tree.InProgress)))}, timing.behind},
	} {
		if got := lag(test.samples); got != test.lag {
			t.Errorf("%s: %s, wanted %s", name, got, test.lag)
		}
	}
}
