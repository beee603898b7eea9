// Command node compares a container node with a simulated one, in one run and on one machine, and prints the results as a
// table.
//
//	go run ./node                 about a minute, as root, where docs/containers.md says it works
//	go run ./node --cycles 20     start and stop clusters instead, and compare what they leave on the machine
//
// Rounds of the two alternate. Each result is the median of its rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// many is the number of pods that start at the same time.
const many = 50

// rest is how long a node is idle before its memory is measured.
const rest = 6 * time.Second

// bench is the state that the measurements share.
type bench struct {
	home  cluster.Home
	image string
}

// figures contains one value for each round.
type figures struct {
	ready, simulated, first, all []time.Duration
	memory                       []int64
}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 5, "how often everything is measured")
	cycles := flag.Int("cycles", 0, "how often a cluster comes and goes; nothing is measured then")
	flag.Parse()
	b := &bench{}
	if b.home, err = cluster.NewHome(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.home.Clear()) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	if *cycles > 0 {
		return b.cycles(ctx, *cycles)
	}
	var f figures
	for round := range *rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
		if err := b.simulated(ctx, &f); err != nil {
			return err
		}
		if err := b.containers(ctx, &f); err != nil {
			return err
		}
	}
	return report.Write(os.Stdout, "simulated", []report.Figure{
		report.AtMost("up to a ready node", f.ready, f.simulated, report.Seconds, 2),
		report.Within("up to a ready node, by itself", f.ready, 6*time.Second),
		report.Within("first pod of a loaded image Running", f.first, time.Second),
		report.Within(fmt.Sprintf("%d pods at once, all Running", many), f.all, 0),
		below("memory of the node's processes (proportional)", f.memory, 200_000_000),
	})
}

func below(name string, values []int64, goal int64) report.Figure {
	figure := report.Figure{Name: name, Operon: report.Megabytes(report.Median(values)), Goal: "≤ " + report.Megabytes(goal), Met: report.Missed}
	if report.Median(values) <= goal {
		figure.Met = report.Met
	}
	return figure
}

// build builds the binaries of the cluster and of its node, and the image of the pods.
func (b *bench) build(ctx context.Context) error {
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster", b.home.Path("operon-cluster")); err != nil {
		return err
	}
	if err := report.Build(ctx, "cluster", "./cmd/operon-node", b.home.Path("operon-node")); err != nil {
		return err
	}
	if err := os.Setenv("CGO_ENABLED", "0"); err != nil { // the program in the image must be statically linked
		return err
	}
	program := b.home.Path("app")
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster/testdata/app", program); err != nil {
		return err
	}
	b.image = b.home.Path("image.tar")
	return writeImage(b.image, program)
}

// cluster runs operon-cluster.
func (b *bench) cluster(ctx context.Context, args ...string) error {
	_, err := b.home.Run(ctx, "operon-cluster", args...)
	return err
}

func (b *bench) simulated(ctx context.Context, f *figures) error {
	began := time.Now()
	if err := b.cluster(ctx, "up"); err != nil {
		return err
	}
	f.simulated = append(f.simulated, time.Since(began))
	return b.cluster(ctx, "down")
}

func (b *bench) containers(ctx context.Context, f *figures) error {
	began := time.Now()
	pid, c, err := b.home.Up(ctx, "--node", "container")
	if err != nil {
		return err
	}
	f.ready = append(f.ready, time.Since(began))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rest):
	}
	memory, err := memoryOf(pid)
	if err != nil {
		return err
	}
	f.memory = append(f.memory, memory)
	if err := b.pods(ctx, c, f); err != nil {
		return err
	}
	return b.cluster(ctx, "down")
}

func (b *bench) pods(ctx context.Context, c client.WithWatch, f *figures) error {
	if err := b.cluster(ctx, "image", "load", b.image); err != nil {
		return err
	}
	for _, m := range []struct {
		name  string
		count int
		into  *[]time.Duration
	}{{"first", 1, &f.first}, {"many", many, &f.all}} {
		began := time.Now()
		if err := runPods(ctx, c, m.name, m.count); err != nil {
			return err
		}
		*m.into = append(*m.into, time.Since(began))
	}
	return nil
}

// memoryOf returns the sum of the memory of a cluster's child processes and their descendants. Pages that several of them share
// are counted proportionally.
func memoryOf(parent int) (int64, error) {
	below, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, list := range below {
		data, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return 0, err
			}
			own, err := proportional(pid)
			if err != nil {
				return 0, err
			}
			theirs, err := memoryOf(pid)
			if err != nil {
				return 0, err
			}
			sum += own + theirs
		}
	}
	return sum, nil
}

// proportional returns the proportional set size of a process, in bytes.
func proportional(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel does not tell what process %d holds", pid)
}
