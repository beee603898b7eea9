package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/testing/box"
)

// objectsOfHandover is the number of objects, which is large enough that each slot has some.
const objectsOfHandover = 300

// measureHandover measures the time from the end of a replica until another replica has handled a change of one of its objects.
func measureHandover(ctx context.Context, s settings) (_ []report.Figure, err error) {
	c, err := startBoxes(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	var staying []*exec.Cmd
	for range 2 {
		process, err := c.replica(s, shards)
		if err != nil {
			return nil, err
		}
		staying = append(staying, process)
	}
	defer func() {
		for _, process := range staying {
			_ = process.Process.Signal(syscall.SIGTERM)
			_ = process.Wait() // nothing more is measured
		}
	}()
	if err := errors.Join(c.fill(ctx, objectsOfHandover), c.allReady(ctx, objectsOfHandover)); err != nil {
		return nil, err
	}
	var graceful, killed []time.Duration
	for range s.rounds {
		stop, err := c.handover(ctx, s, syscall.SIGTERM)
		if err != nil {
			return nil, err
		}
		kill, err := c.handover(ctx, s, syscall.SIGKILL)
		if err != nil {
			return nil, err
		}
		graceful, killed = append(graceful, stop), append(killed, kill)
	}
	return []report.Figure{
		report.Within("hand-over on graceful stop, slowest", []time.Duration{longest(graceful)}, time.Second),
		report.Within("hand-over on graceful stop, median", []time.Duration{report.Median(graceful)}, time.Second),
		report.Within(fmt.Sprintf("hand-over after kill -9 with a lease of %s, slowest", s.lease), []time.Duration{longest(killed)}, s.lease+time.Second),
		report.Within(fmt.Sprintf("hand-over after kill -9 with a lease of %s, median", s.lease), []time.Duration{report.Median(killed)}, s.lease+time.Second),
	}, nil
}

func longest(all []time.Duration) time.Duration {
	most := time.Duration(0)
	for _, d := range all {
		most = max(most, d)
	}
	return most
}

// handover starts a replica, ends it, and measures how long one of its objects waits.
func (c *boxes) handover(ctx context.Context, s settings, end syscall.Signal) (time.Duration, error) {
	before, err := c.spread(ctx, 2)
	if err != nil {
		return 0, err
	}
	process, err := c.replica(s, shards)
	if err != nil {
		return 0, err
	}
	after, err := c.spread(ctx, 3)
	if err != nil {
		return 0, err
	}
	name, err := c.objectOf(ctx, newcomer(before, after), after)
	if err != nil {
		return 0, err
	}
	if changed, err := c.change(ctx, name, time.Now().String()); err != nil {
		return 0, err
	} else if err := c.seenTo(ctx, changed); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := process.Process.Signal(end); err != nil {
		return 0, err
	}
	changed, err := c.change(ctx, name, began.String())
	if err != nil {
		return 0, err
	}
	if err := c.seenTo(ctx, changed); err != nil {
		return 0, err
	}
	took := time.Since(began)
	_ = process.Wait() // it ended because of the signal
	return took, nil
}

// newcomer returns the holder that has slots in after but not in before.
func newcomer(before, after shardtable.Table) string {
	for holder := range maps.Keys(holdersOf(after)) {
		if !holdersOf(before)[holder] {
			return holder
		}
	}
	return ""
}

// objectOf returns an object of a replica.
func (c *boxes) objectOf(ctx context.Context, holder string, t shardtable.Table) (string, error) {
	var list box.BoxList
	if err := c.Client.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		return "", err
	}
	for i := range list.Items {
		if t.Holders[t.SlotOf(list.Items[i].UID)] == holder {
			return list.Items[i].Name, nil
		}
	}
	return "", fmt.Errorf("%s has no object", holder)
}
