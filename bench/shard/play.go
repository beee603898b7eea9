package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/testing/sharddrill"
)

// objectsOfPlay is the number of objects that change while replicas start and end.
const objectsOfPlay = 200

// patience is how long a change may wait, as a number of lease durations: one for each of several successive replicas that take
// over the object and end, too.
const patience = 5

// measurePlay starts and ends replicas at random, and checks the audit log.
func measurePlay(ctx context.Context, s settings) (_ []report.Figure, err error) {
	c, err := startBoxes(ctx, sharddrill.Policy)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.fill(ctx, objectsOfPlay); err != nil {
		return nil, err
	}
	tables, err := sharddrill.Record(ctx, c.Config)
	if err != nil {
		return nil, err
	}
	defer tables.Stop()
	play := &sharddrill.Play{
		Seed: s.seed, Lease: s.lease, Between: 3 * time.Second, Pace: 60 * time.Millisecond, Least: 3, Most: 6,
		Tell:  func(string, ...any) {},
		Start: func() (*exec.Cmd, error) { return c.replica(s, shards) },
		Change: func(ctx context.Context, random *rand.Rand) error {
			_, err := c.change(ctx, boxName(random.IntN(objectsOfPlay)), fmt.Sprint(random.Int()))
			return err
		},
	}
	fmt.Fprintf(os.Stderr, "play: seed %d, for %s\n", s.seed, s.play)
	if err := play.Begin(); err != nil {
		return nil, err
	}
	if err = c.allReady(ctx, objectsOfPlay); err == nil { // the start of processes does not count as a wait
		err = play.Run(ctx, s.play)
	}
	play.Thaw()
	if err = errors.Join(err, c.allReady(ctx, objectsOfPlay), c.touch(ctx, objectsOfPlay), play.End()); err != nil {
		return nil, err
	}
	recorded, err := tables.Read(ctx)
	if err != nil {
		return nil, err
	}
	writes, err := sharddrill.Read(c.Audit, recorded)
	if err != nil {
		return nil, err
	}
	v := sharddrill.Judge(writes, patience*s.lease)
	fmt.Fprintf(os.Stderr, "play: %v\n%s\n", play.Acts, v)
	return []report.Figure{
		report.NoneOf("objects written by two owners", int64(len(v.Two)), 0),
		report.NoneOf("objects that starved", int64(len(v.Starved)), 0),
		report.Within("the longest that a change waited", []time.Duration{v.Slowest}, patience*s.lease),
	}, nil
}
