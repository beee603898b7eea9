// Command external measures the cost of managing external resources: with Operon, and with an operator that uses only
// controller-runtime, which creates them and then records their IDs.
//
//	go run ./external --objects 20 --resources 10
//
// Both run in one cluster, one at a time, with an in-memory system that counts calls. Requests to the API server are counted in
// the client of the operator. First the objects converge without polling. Then the operator is restarted and polls each
// resource repeatedly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// settings are the flags.
type settings struct {
	objects, resources int
	poll, during       time.Duration
}

// operator runs until ctx ends, in one namespace, and periodically checks converged resources.
type operator func(ctx context.Context, config *rest.Config, namespace string, r *rack, poll time.Duration) error

// contenders are the two operators.
var contenders = map[string]operator{"operon": runProvisioned, "plain": runPlain}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.IntVar(&s.objects, "objects", 20, "how many objects there are")
	flag.IntVar(&s.resources, "resources", 10, "how many resources each of them has outside")
	flag.DurationVar(&s.poll, "poll", time.Second, "how often a resource is looked at")
	flag.DurationVar(&s.during, "for", 20*time.Second, "how long converged operators are watched")
	flag.Parse()
	c, err := cluster.Start(ctx, cluster.Options{Name: "bench-external"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	measured := map[string]*measurement{}
	for _, name := range []string{"plain", "operon"} {
		fmt.Fprintln(os.Stderr, name)
		if measured[name], err = measure(ctx, c, name, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Printf("%d objects, %d resources each\n\n", s.objects, s.resources)
	return report.Write(os.Stdout, "create, then record", figures(measured["operon"], measured["plain"], s))
}

func figures(o, p *measurement, s settings) []report.Figure {
	made := float64(s.objects * s.resources)
	share := func(m *measurement, of func(*measurement) int64) []float64 { return []float64{float64(of(m)) / made} }
	perMade := func(name string, of func(*measurement) int64) report.Figure {
		show := func(n float64) string { return fmt.Sprintf("%.2f", n) }
		return report.AtMost(name, share(o, of), share(p, of), show, 0)
	}
	perLook := func(m *measurement) []float64 { return []float64{float64(m.cpu.Microseconds()) / float64(m.looks)} }
	micros := func(n float64) string { return fmt.Sprintf("%.0f µs", n) }
	return []report.Figure{
		perMade("calls to the outside for a resource that is created", func(m *measurement) int64 { return m.calls }),
		perMade("… of these, creations", func(m *measurement) int64 { return m.creations }),
		report.NoneOf("resources that were created and nobody knows of", o.lost, p.lost),
		perMade("writes to the API for a resource that is created, events aside", func(m *measurement) int64 { return m.sent.writes }),
		perMade("… events", func(m *measurement) int64 { return m.sent.events }),
		perMade("… reads", func(m *measurement) int64 { return m.sent.reads }),
		report.NoneOf("writes to the API after a restart", o.restarted.writes, p.restarted.writes),
		report.NoneOf(fmt.Sprintf("requests to the API while converged, over %d and %d looks", o.looks, p.looks), o.converged.all(), p.converged.all()),
		report.AtMost("CPU of the operator for a look", perLook(o), perLook(p), micros, 0),
	}
}
