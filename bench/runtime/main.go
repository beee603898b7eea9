// Command runtime compares an operator that uses Operon with the same operator that uses only controller-runtime, in the style
// of kubebuilder's tutorial.
//
//	go run ./runtime --objects 1000
//	go run ./runtime --light --objects 100000     # Operon alone, two children for each object
//
// Each runs as a separate process, in a separate cluster that is started for it, so memory and processor time are those of the
// operator, and nothing remains of the other one. The two alternate, reconcile the same number of objects at a time, and write the same number
// of events. Each result is the median of its rounds. Requests are counted in the API server's audit log. An object creates a
// ConfigMap, a Service and a Deployment. The Deployment has no replicas unless a flag sets them, because pods would be
// expensive for the cluster but not for the operator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/bench/internal/report"
)

// settings are the flags.
type settings struct {
	objects, replicas, drifts int
	rounds, workers           int
	idle                      time.Duration
	output                    string
	cpuProfile, memProfile    string
	light                     bool
}

// contenders are the two operators.
var contenders = map[string]struct {
	run       func(context.Context, *rest.Config, settings) error
	condition string
}{
	"plain":  {runPlain, plainAvailable},
	"operon": {runComposed, composedReady},
}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) error {
	var s settings
	flag.IntVar(&s.objects, "objects", 1000, "how many objects the operators manage")
	flag.IntVar(&s.replicas, "replicas", 0, "replicas of each Deployment")
	flag.IntVar(&s.drifts, "drifts", 100, "how often somebody changes a child")
	flag.IntVar(&s.rounds, "rounds", 3, "how often each operator is measured")
	flag.IntVar(&s.workers, "workers", 4, "how many objects an operator reconciles at a time")
	flag.DurationVar(&s.idle, "idle", 20*time.Second, "how long converged operators are watched")
	flag.StringVar(&s.output, "o", "text", "text or json")
	flag.StringVar(&s.cpuProfile, "cpuprofile", "", "`FILE` for a profile of the operator written with Operon, in the last round")
	flag.StringVar(&s.memProfile, "memprofile", "", "`FILE` for its heap when all objects have converged")
	flag.BoolVar(&s.light, "light", false, "measure only the operator written with Operon, once, with a ConfigMap and a Secret for each object")
	operator := flag.String("operator", "", "run as an operator: plain or operon")
	kubeconfig := flag.String("cluster", "", "with --operator: the kubeconfig of its cluster")
	flag.Parse()
	if s.rounds < 1 {
		return fmt.Errorf("--rounds is %d: want at least 1", s.rounds)
	}
	if s.objects < 1 {
		return fmt.Errorf("--objects is %d: want at least 1", s.objects)
	}
	if *operator != "" {
		return operate(ctx, *operator, *kubeconfig, s)
	}
	if s.light {
		return many(ctx, s)
	}
	return compare(ctx, s)
}

// operate runs the process of one operator.
func operate(ctx context.Context, name, kubeconfig string, s settings) error {
	contender, ok := contenders[name]
	if !ok {
		return fmt.Errorf("--operator %q: want plain or operon", name)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // like GetConfig of controller-runtime
	// Profiles are written when the operator receives the signal to stop, before it releases anything.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	finish, err := profile(s)
	if err != nil {
		return err
	}
	var profiled error
	context.AfterFunc(ctx, func() {
		profiled = finish()
		stop()
	})
	return errors.Join(contender.run(running, config, s), profiled)
}

func compare(ctx context.Context, s settings) error {
	measured := map[string][]*measurement{}
	for round := range s.rounds {
		for _, name := range []string{"plain", "operon"} {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, s.rounds, name)
			m, err := measure(ctx, name, s)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			measured[name] = append(measured[name], m)
		}
	}
	table := figures(measured["operon"], measured["plain"], s)
	if s.output == "json" {
		return json.NewEncoder(os.Stdout).Encode(table)
	}
	fmt.Printf("%d objects\n\n", s.objects)
	return report.Write(os.Stdout, "controller-runtime", table)
}

func figures(o, p []*measurement, s settings) []report.Figure {
	rate := func(m *measurement) float64 { return float64(s.objects) / m.converged.Seconds() }
	show := func(rate float64) string { return fmt.Sprintf("%.0f /s", rate) }
	writes := func(m *measurement) int64 { return m.writes }
	events := func(m *measurement) int64 { return m.events }
	reads := func(m *measurement) int64 { return m.reads }
	peak := func(m *measurement) int64 { return m.used.Peak }
	cpu := func(m *measurement) time.Duration { return m.used.CPU }
	drift := func(m *measurement) time.Duration { return report.Median(m.drifts) }
	perMinute := func(m *measurement) int64 { return int64(float64(m.idle) / s.idle.Minutes()) }
	restart := func(m *measurement) int64 { return m.restart }
	return []report.Figure{
		report.AtLeast("objects converged a second", each(o, rate), each(p, rate), show, 1.5),
		report.AtMost("API writes for converging, events aside", each(o, writes), each(p, writes), report.Count, 0.7),
		report.AtMost("events written", each(o, events), each(p, events), report.Count, 0),
		report.AtMost("reads for converging", each(o, reads), each(p, reads), report.Count, 0),
		report.NoneOf("requests a minute when converged, most of all rounds", slices.Max(each(o, perMinute)), slices.Max(each(p, perMinute))),
		report.NoneOf("writes after a restart, most of all rounds", slices.Max(each(o, restart)), slices.Max(each(p, restart))),
		report.AtMost("peak memory of the operator", each(o, peak), each(p, peak), report.Megabytes, 0.5),
		report.AtMost("CPU of the operator for converging", each(o, cpu), each(p, cpu), report.Seconds, 0.8),
		report.AtMost("drift repaired, median", each(o, drift), each(p, drift), report.Seconds, 0),
		report.Within("drift repaired, p99", each(o, func(m *measurement) time.Duration { return p99(m.drifts) }), 250*time.Millisecond),
	}
}

// each returns one figure of all rounds.
func each[N any](rounds []*measurement, of func(*measurement) N) []N {
	var all []N
	for _, m := range rounds {
		all = append(all, of(m))
	}
	return all
}
