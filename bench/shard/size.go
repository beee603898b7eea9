package main

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

// measureSize runs a single replica, and then three replicas that share, until the same objects have converged.
func measureSize(ctx context.Context, s settings) ([]report.Figure, error) {
	alone, _, err := converge(ctx, s, 1, 0)
	if err != nil {
		return nil, err
	}
	shared, took, err := converge(ctx, s, 3, shards)
	if err != nil {
		return nil, err
	}
	row := func(name string, of func(used) int64, show func(int64) string, goal float64) report.Figure {
		var shares []int64
		for _, one := range shared {
			shares = append(shares, of(one))
		}
		return report.AtMost(name, []int64{slices.Max(shares)}, []int64{of(alone[0])}, show, goal)
	}
	const judged, told = 0.45, 0
	seconds := func(n int64) string { return report.Seconds(time.Duration(n)) }
	return []report.Figure{
		row("peak memory of the largest of three replicas", func(u used) int64 { return u.Peak }, report.Megabytes, judged),
		row("its memory at rest", func(u used) int64 { return u.Resident }, report.Megabytes, judged),
		row("CPU of the busiest of three replicas", func(u used) int64 { return int64(u.CPU) }, seconds, judged),
		row("beside the goal: memory before there were objects", func(u used) int64 { return u.idle.Resident }, report.Megabytes, told),
		row("beside the goal: of that, pages of the program's file", func(u used) int64 { return u.idle.Files }, report.Megabytes, told),
		row("beside the goal: peak memory above that before", func(u used) int64 { return u.Peak - u.idle.Resident }, report.Megabytes, told),
		report.Within("three replicas: all objects ready after", []time.Duration{took}, time.Hour),
	}, nil
}

// used is the resource usage of a replica at the end, and before the objects were created.
type used struct {
	report.Process
	idle report.Process
}

// converge runs replicas until all objects are ready, and returns the resource usage of each.
func converge(ctx context.Context, s settings, replicas, slots int) (all []used, took time.Duration, err error) {
	c, err := startBoxes(ctx, "")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	var running []*exec.Cmd
	for range replicas {
		process, err := c.replica(s, slots)
		if err != nil {
			return nil, 0, err
		}
		running = append(running, process)
		defer func() {
			_ = process.Process.Signal(syscall.SIGTERM)
			_ = process.Wait() // its resource usage was read before
		}()
	}
	if slots > 0 {
		if _, err := c.spread(ctx, replicas); err != nil {
			return nil, 0, err
		}
	}
	if err := errors.Join(c.fill(ctx, 1), c.allReady(ctx, 1)); err != nil { // then the replicas have started to work
		return nil, 0, err
	}
	idle, err := usages(running)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := errors.Join(c.fill(ctx, s.objects), c.allReady(ctx, s.objects)); err != nil {
		return nil, 0, err
	}
	took = time.Since(began)
	now, err := usages(running)
	for i := range now {
		all = append(all, used{now[i], idle[i]})
	}
	return all, took, err
}

// usages returns the resource usage of each replica so far.
func usages(running []*exec.Cmd) ([]report.Process, error) {
	var all []report.Process
	for _, process := range running {
		now, err := report.Usage(process.Process.Pid)
		if err != nil {
			return nil, err
		}
		all = append(all, now)
	}
	return all, nil
}
