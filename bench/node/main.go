// Command node compares a container node with a simulated one, in one run and on one machine, and prints the figures
// as a table.
//
//	go run ./node                 about a minute, as root, where docs/containers.md says it works
//	go run ./node --cycles 20     clusters come and go instead, and it is compared what they leave on the machine
//
// Rounds of the two alternate; a figure is the median of its rounds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
)

// many is how many pods start at the same time.
const many = 50

// rest is how long a node is left alone before its memory is read.
const rest = 6 * time.Second

// bench is what the measurements share.
type bench struct {
	binary, image string
	home          string // OPERON_HOME of the clusters that are measured
}

// figures has a value for each round.
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
	if b.home, err = os.MkdirTemp("", "operon-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.clear()) }()
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

// build builds the cluster's binary and the image that pods run.
func (b *bench) build(ctx context.Context) error {
	b.binary = filepath.Join(b.home, "operon-cluster")
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster", b.binary); err != nil {
		return err
	}
	if err := os.Setenv("CGO_ENABLED", "0"); err != nil { // what runs in the image links nothing
		return err
	}
	program := filepath.Join(b.home, "app")
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster/testdata/app", program); err != nil {
		return err
	}
	b.image = filepath.Join(b.home, "image.tar")
	return writeImage(b.image, program)
}

// clear takes down what an interrupted round left running.
func (b *bench) clear() error {
	var down error
	if _, err := os.Stat(b.binary); err == nil {
		_, down = b.cluster(context.Background(), "down", "--all")
	}
	return errors.Join(down, os.RemoveAll(b.home))
}

// cluster runs operon-cluster and returns what it printed.
func (b *bench) cluster(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, b.binary, args...)
	command.Env = append(os.Environ(), "OPERON_HOME="+b.home)
	out, err := command.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

func (b *bench) simulated(ctx context.Context, f *figures) error {
	began := time.Now()
	if _, err := b.cluster(ctx, "up"); err != nil {
		return err
	}
	f.simulated = append(f.simulated, time.Since(began))
	_, err := b.cluster(ctx, "down")
	return err
}

func (b *bench) containers(ctx context.Context, f *figures) error {
	began := time.Now()
	out, err := b.cluster(ctx, "up", "--node", "container", "-o", "json")
	if err != nil {
		return err
	}
	f.ready = append(f.ready, time.Since(began))
	var facts struct {
		PID        int
		Kubeconfig string
	}
	if err := json.Unmarshal(out, &facts); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", facts.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rest):
	}
	memory, err := memoryOf(facts.PID)
	if err != nil {
		return err
	}
	f.memory = append(f.memory, memory)
	if err := b.pods(ctx, c, f); err != nil {
		return err
	}
	_, err = b.cluster(ctx, "down")
	return err
}

func (b *bench) pods(ctx context.Context, c client.WithWatch, f *figures) error {
	if _, err := b.cluster(ctx, "image", "load", b.image); err != nil {
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

// memoryOf adds up what a cluster's children and theirs hold, each with its share of the
// pages that several of them hold.
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

// proportional is the proportional set size of a process, in bytes.
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
