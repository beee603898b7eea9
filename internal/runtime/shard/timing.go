package shard

import (
	"fmt"
	"time"
)

// timing is what follows from how long a lease runs.
type timing struct {
	// lease is how long after its last renewal was seen a member counts as live for others.
	lease time.Duration
	// renew is how often a lease is renewed, write how long a write may take, and valid for how
	// long after a renewal was sent writes may be sent.
	renew, write, valid time.Duration
	// drain is how long passes may continue when a slot is given up.
	drain time.Duration
}

// shortest and longest bound how long a lease may run.
const (
	shortest = 2 * time.Second
	longest  = time.Hour
)

// skew is by how much clocks may go differently fast: one part in so many.
const skew = 50

func timingOf(lease time.Duration) (timing, error) {
	if lease < shortest || lease > longest || lease%time.Second != 0 {
		return timing{}, fmt.Errorf("a lease of %s: want whole seconds, %s to %s", lease, shortest, longest)
	}
	write := lease / 3
	return timing{
		lease: lease,
		renew: lease / 5,
		write: write,
		valid: lease - lease/skew - write,
		drain: 300 * time.Millisecond,
	}, nil
}
