package instance

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A node that never reports its start blocks no caller: a start that is interrupted or takes too long ends.
func TestNobodyWaitsForeverForANode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- (&containers{started: make(chan struct{})}).join(ctx, nil) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits for the node")
	}
}
