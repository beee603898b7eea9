package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove/world"
)

// An operator is silent as long as it has not heard of a change: that does not end the step.
func TestSilenceOfWhoHasNotHeard(t *testing.T) {
	t.Parallel()
	gate := &localtest.Gate{}
	stage := newStageBehind(t, gate, world.Function(boxOperator{}.run))
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
