package main

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"github.com/operon-framework/operon/bench/report"
)

// measureSize lets one replica alone, and then three that share, bring the same objects about.
func measureSize(ctx context.Context, s settings) ([]report.Figure, error) {
	alone, _, err := converge(ctx, s, 1, 0)
	if err != nil {
		return nil, err
	}
	shared, took, err := converge(ctx, s, 3, shards)
	if err != nil {
		return nil, err
	}
	var peaks, rests, cpus []int64
	var worst report.Process
	for _, r := range shared {
		worst.Peak, worst.Resident, worst.CPU = max(worst.Peak, r.Peak), max(worst.Resident, r.Resident), max(worst.CPU, r.CPU)
	}
	peaks, rests, cpus = []int64{worst.Peak}, []int64{worst.Resident}, []int64{int64(worst.CPU)}
	seconds := func(n int64) string { return report.Seconds(time.Duration(n)) }
	return []report.Figure{
		report.AtMost("peak memory of the largest of three replicas", peaks, []int64{alone[0].Peak}, report.Megabytes, 0.45),
		report.AtMost("its memory at rest", rests, []int64{alone[0].Resident}, report.Megabytes, 0.45),
		report.AtMost("CPU of the busiest of three replicas", cpus, []int64{int64(alone[0].CPU)}, seconds, 0.45),
		report.Within("three replicas: all objects ready after", []time.Duration{took}, time.Hour),
	}, nil
}

// converge runs replicas until all objects are ready, and tells what each used.
func converge(ctx context.Context, s settings, replicas, slots int) (used []report.Process, took time.Duration, err error) {
	c, err := startCluster(ctx, "")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	var running []*exec.Cmd
	for range replicas {
		process, err := c.replica(s, slots)
		if err != nil {
			return nil, 0, err
		}
		running = append(running, process)
		defer func() {
			_ = process.Process.Signal(syscall.SIGTERM)
			_ = process.Wait() // what it used was read before
		}()
	}
	if slots > 0 {
		if _, err := c.spread(ctx, replicas); err != nil {
			return nil, 0, err
		}
	}
	began := time.Now()
	if err := c.fill(ctx, s.objects); err != nil {
		return nil, 0, err
	}
	if err := c.allReady(ctx, s.objects); err != nil {
		return nil, 0, err
	}
	took = time.Since(began)
	for _, process := range running {
		now, err := report.Usage(process.Process.Pid)
		if err != nil {
			return nil, 0, err
		}
		used = append(used, now)
	}
	return used, took, nil
}
