// Command engines compares operators without Go with the way in which Operator SDK runs them.
//
//	go run ./engines --engine helm
//	go run ./engines --engine ansible
//
// No binary of Operator SDK can be fetched where this runs. The peer of the Helm engine is a program on the same Helm library that does
// what the classic operator does: it renders the chart for each object and period, compares the text with the stored release, and reads each
// object of the release. The peer of the Ansible engine starts ansible-playbook for each reconcile; the real one starts ansible-runner,
// which starts ansible-playbook. Both are kinder to the cluster than the originals: they need no proxy and set no owners.
//
// The projects are those that `operon init` creates: for Helm, of the chart that `helm create` creates.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/bench/internal/report"
)

// settings are the flags.
type settings struct {
	engine                  string
	objects, steady, edits  int
	idle                    time.Duration
	output                  string
	peer, kubeconfig, files string
}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) error {
	var s settings
	flag.StringVar(&s.engine, "engine", "helm", "helm or ansible")
	flag.IntVar(&s.objects, "objects", 100, "how many objects are created")
	flag.IntVar(&s.steady, "steady", 1000, "with ansible: how many objects of Operon are steady")
	flag.IntVar(&s.edits, "edits", 20, "with ansible: how often the spec of an object is edited")
	flag.DurationVar(&s.idle, "idle", 2*time.Minute, "how long steady operators are watched")
	flag.StringVar(&s.output, "o", "text", "text or json")
	flag.StringVar(&s.peer, "peer", "", "run as the peer of an engine")
	flag.StringVar(&s.kubeconfig, "cluster", "", "with --peer: the kubeconfig of its cluster")
	flag.StringVar(&s.files, "project", "", "with --peer: the directory of the project")
	flag.Parse()
	switch {
	case s.peer == "helm":
		return runHelm(ctx, s)
	case s.peer == "ansible":
		return runAnsible(ctx, s)
	case s.engine == "helm":
		return compare(ctx, s, measureHelm, helmFigures)
	case s.engine == "ansible":
		return compare(ctx, s, measureAnsible, ansibleFigures)
	}
	return fmt.Errorf("--engine %q: want helm or ansible", s.engine)
}

// compare measures the peer and Operon, and prints the table.
func compare(ctx context.Context, s settings, measure func(context.Context, *world) (*measurement, error), figures func(settings, *measurement, *measurement) []report.Figure) error {
	measured := map[string]*measurement{}
	for _, name := range []string{peerName, operonName} {
		fmt.Fprintln(os.Stderr, name)
		m, err := measureIn(ctx, s, name, measure)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		measured[name] = m
	}
	table := figures(s, measured[operonName], measured[peerName])
	if s.output == "json" {
		return json.NewEncoder(os.Stdout).Encode(table)
	}
	fmt.Printf("%d objects\n\n", s.objects)
	return report.Write(os.Stdout, peerName, table)
}

// measurement contains the measurements of one operator. Processor times include all its processes.
type measurement struct {
	// ready is the time until all objects were ready, and readyCPU the processor time until then.
	ready, readyCPU time.Duration
	// memory is that of all processes at rest, with their shares of pages that several processes use.
	memory int64
	// idleRequests and idleCPU are those of steady objects during the idle time.
	idleRequests int64
	idleCPU      time.Duration
	// again is the processor time for one reconcile of each object.
	again time.Duration
	edits []time.Duration
}

func helmFigures(s settings, o, p *measurement) []report.Figure {
	return []report.Figure{
		report.NoneOf(fmt.Sprintf("requests in %s, steady", s.idle), o.idleRequests, p.idleRequests),
		report.AtMost(fmt.Sprintf("CPU in %s, steady", s.idle), []time.Duration{o.idleCPU}, []time.Duration{p.idleCPU}, report.Seconds, 1.0/50),
		report.AtMost("memory at rest", []int64{o.memory}, []int64{p.memory}, report.Megabytes, 1.0/4),
		report.AtMost("memory at rest, and 100 MB", []int64{o.memory}, []int64{100 << 20}, report.Megabytes, 1),
		report.AtMost("from creation to the last Deployment available", []time.Duration{o.ready}, []time.Duration{p.ready}, report.Seconds, 0.5),
		report.AtMost("CPU until then", []time.Duration{o.readyCPU}, []time.Duration{p.readyCPU}, report.Seconds, 0),
	}
}

func ansibleFigures(s settings, o, p *measurement) []report.Figure {
	anHour := time.Duration(float64(o.idleCPU) * float64(time.Hour) / float64(s.idle))
	runs := float64(s.steady) * float64(time.Hour) / float64(timing.period)
	peers := time.Duration(float64(p.again) / float64(s.objects) * runs)
	return []report.Figure{
		report.AtMost(fmt.Sprintf("CPU in an hour, %d steady objects", s.steady), []time.Duration{anHour}, []time.Duration{peers}, report.Seconds, 1.0/20),
		report.AtMost("CPU after a restart", []time.Duration{o.again}, []time.Duration{p.again}, report.Seconds, 0),
		report.AtMost("first reconcile of all objects", []time.Duration{o.ready}, []time.Duration{p.ready}, report.Seconds, 1.0/4),
		report.AtMost("CPU until then", []time.Duration{o.readyCPU}, []time.Duration{p.readyCPU}, report.Seconds, 0),
		report.Within("from an edit of the spec to the change, median", median(o.edits), 500*time.Millisecond),
		report.AtMost("memory at rest", []int64{o.memory}, []int64{p.memory}, report.Megabytes, 0),
	}
}
