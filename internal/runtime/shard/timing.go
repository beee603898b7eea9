package shard

import (
	"fmt"
	"time"
)

// timing holds the durations that follow from the duration of a lease.
type timing struct {
	// lease is how long a member counts as live for others after they observed its last renewal.
	lease time.Duration
	// renew is how often a lease is renewed, write how long a write may take, and valid for how
	// long writes may be sent after a renewal was sent.
	renew, write, valid time.Duration
	// drain is how long passes may continue when a slot is given up.
	drain time.Duration
}

// shortest and longest bound the duration of a lease.
const (
	shortest = 2 * time.Second
	longest  = time.Hour
)

// skew is the tolerated difference in the speed of clocks: one part in skew.
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
