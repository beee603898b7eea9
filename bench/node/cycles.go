package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// podsOfACycle is the number of pods that each cluster runs before it is stopped.
const podsOfACycle = 5

// seen contains what exists of each of traces.
type seen map[string][]string

func (b *bench) look() (seen, error) {
	now := seen{}
	for _, trace := range traces {
		found, err := trace.list(string(b.home))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", trace.name, err)
		}
		slices.Sort(found)
		now[trace.name] = found
	}
	return now, nil
}

// cycles repeatedly starts a cluster, runs pods and stops it. Every second cluster is killed. It returns an error if the state
// of the machine after a cycle differs from the state before the first one.
func (b *bench) cycles(ctx context.Context, count int) error {
	before, err := b.look()
	if err != nil {
		return err
	}
	var during, after seen
	killed := 0
	for cycle := range count {
		kill := cycle%2 == 1
		fmt.Fprintf(os.Stderr, "cycle %d of %d, killed: %t\n", cycle+1, count, kill)
		if during, err = b.cycle(ctx, kill); err != nil {
			return err
		}
		if kill {
			killed++
		}
		if after, err = b.look(); err != nil {
			return err
		}
		if left := changes(before, after); len(left) > 0 {
			return fmt.Errorf("after cycle %d, killed: %t, the machine is not as it was:\n%s", cycle+1, kill, strings.Join(left, "\n"))
		}
	}
	fmt.Printf("%d cycles, %d of them killed:\n\n| what | before | while pods run | after | changed |\n| --- | --- | --- | --- | --- |\n", count, killed)
	for _, trace := range traces {
		fmt.Printf("| %s | %d | %d | %d | – |\n", trace.name, len(before[trace.name]), len(during[trace.name]), len(after[trace.name]))
	}
	return nil
}

// cycle starts and stops one cluster. It returns what existed while its pods ran.
func (b *bench) cycle(ctx context.Context, kill bool) (during seen, err error) {
	pid, c, err := b.home.Up(ctx, "--cluster", cycled, "--node", "container")
	if err != nil {
		return nil, err
	}
	if err := b.cluster(ctx, "image", "load", "--cluster", cycled, b.image); err != nil {
		return nil, err
	}
	if err := runPods(ctx, c, "cycle", podsOfACycle); err != nil {
		return nil, err
	}
	if during, err = b.look(); err != nil {
		return nil, err
	}
	for _, name := range []string{"processes", "unix sockets", groupsName} {
		if !slices.ContainsFunc(during[name], func(what string) bool {
			return strings.Contains(what, string(b.home)) || strings.Contains(what, cycled)
		}) {
			return nil, errors.New("of the " + name + " none is the node's while it runs: to find none afterwards means nothing")
		}
	}
	if kill {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return nil, err
		}
	}
	return during, b.cluster(ctx, "down", "--cluster", cycled)
}

// changes lists what was added and what was removed. Programs of other users also create and remove control groups: removed
// control groups, and new ones that contain processes, are attributed to them.
func changes(before, after seen) (found []string) {
	for _, trace := range traces {
		was, is := before[trace.name], after[trace.name]
		for _, what := range is {
			if !slices.Contains(was, what) && !(trace.name == groupsName && populated(what)) {
				found = append(found, trace.name+", new: "+what)
			}
		}
		for _, what := range was {
			if !slices.Contains(is, what) && trace.name != groupsName {
				found = append(found, trace.name+", gone: "+what)
			}
		}
	}
	return found
}

// populated reports whether a control group contains processes. The processes of a node are searched separately.
func populated(group string) bool {
	processes, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	return err == nil && len(processes) > 0
}
