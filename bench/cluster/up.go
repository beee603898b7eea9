package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

// up measures the complete loop: from nothing running until a sample is Ready, with everything built before.
func up(ctx context.Context, b *bench) error {
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	memcached := filepath.Join(root, "examples", "memcached")
	var took []time.Duration
	for round := range b.rounds + 1 {
		began := time.Now()
		if _, err := b.home.Run(ctx, "operon", "up", memcached, "--once"); err != nil {
			return err
		}
		if round > 0 { // the first round fills the build cache
			took = append(took, time.Since(began))
		}
		if err := b.cluster(ctx, "down"); err != nil {
			return err
		}
	}
	b.table = append(b.table, report.Within("operon up examples/memcached --once", took, 5*time.Second))
	return nil
}
