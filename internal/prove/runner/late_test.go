package runner_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/local/localtest"
)

// An operator is silent as long as it has not heard of a change: that does not end the step.
func TestSilenceOfWhoHasNotHeard(t *testing.T) {
	t.Parallel()
	gate := &localtest.Gate{}
	stage := newStageBehind(t, gate, runner.Function(boxOperator{}.run))
	stop := slow(gate, 2*quick.Unsure)
	defer stop()
	checkLife(t, carry(t, stage, life))
}

// Nor does it end while the witness has still to see what the step did.
func TestSilenceBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	// The rest is not late, so that the cluster is not known to be slow.
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	seer, err := clusterwatch.Start(t.Context(), gate.Config(env.Config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(seer.Close)
	stage := openStage(t, runner.Settings{Config: env.Config, Witness: seer, Operator: runner.Function(boxOperator{}.run)})
	stop := slow(gate, 2*quick.Unsure)
	defer stop()
	checkLife(t, carry(t, stage, life))
}

// slow lets watches show what they have to once in a while.
func slow(gate *localtest.Gate, while time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			gate.Shut()
			select {
			case <-time.After(while): // that is what is slow
			case <-ctx.Done():
			}
			gate.Open()
			select {
			case <-time.After(while / 10):
			case <-ctx.Done():
			}
		}
	}()
	return cancel
}
