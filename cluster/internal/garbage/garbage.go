// Package garbage adjusts the garbage collector's target of a cluster's process: less memory while the cluster is idle, less CPU time while
// it is busy.
package garbage

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// timing holds the durations of this package.
var timing = struct{ period, quiet time.Duration }{
	// period is how often the target is adjusted.
	period: time.Second,
	// quiet is how long no garbage is collected before a cluster counts as idle.
	quiet: 4 * time.Second,
}

// atRest is the target of an idle cluster, and during its start. The components together use about 105 MB of live memory, most of it
// permanently. Measurements from start to idle: without collection until ready, the start is not faster, and the cluster
// retains 40 percent more memory, in pages that each contain a few long-lived objects. With 50, the start takes a tenth longer.
const atRest = 65

// busy is the target while the cluster is busy: with 65, a fifth of the CPU time of 300 Deployments is garbage collection.
const busy = 200

// The target drops from busy to atRest as the heap approaches busyHeap bytes, or this share of the memory that the process may use if that is
// less. With 768 MiB, the cluster of many sessions of prove at a time has 350 MB of live memory, and 37 percent of its CPU time is garbage collection.
const (
	busyHeap  = 1536 << 20
	busyShare = 16
)

// Target sets the target for the start, and returns a function that adjusts it until ctx ends. If $GOGC sets the target, both do nothing.
func Target() (adjust func(context.Context)) {
	if os.Getenv("GOGC") != "" {
		return func(context.Context) {}
	}
	debug.SetGCPercent(atRest)
	return adjustTarget
}

// adjustTarget sets the target once a period: a cluster is busy as long as it collects garbage, and for some seconds after that.
func adjustTarget(ctx context.Context) {
	limit := uint64(busyHeap)
	if all := memory(); all > 0 {
		limit = min(limit, all/busyShare)
	}
	percent, cycles, last := atRest, read().cycles, time.Time{}
	ticker := time.NewTicker(timing.period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := read()
		if now.cycles != cycles {
			cycles, last = now.cycles, time.Now()
		}
		next := atRest
		if time.Since(last) < timing.quiet {
			next = target(now.live, limit)
		}
		if next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
	}
}

// target returns the target of a busy cluster with so much live memory, in steps of ten: each change stops the process for a moment.
func target(live, limit uint64) int {
	if live == 0 || live >= limit {
		return atRest
	}
	return min(max(int((limit-live)*100/live)/10*10, atRest), busy)
}

// state is what the garbage collector reports: the number of cycles that it started itself, and the live memory that the last one found, in
// bytes.
type state struct{ cycles, live uint64 }

func read() state {
	samples := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return state{cycles: samples[0].Value.Uint64(), live: samples[1].Value.Uint64()}
}
