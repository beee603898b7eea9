// Command cluster compares Operon's local Kubernetes with envtest, in one run and on one machine, and prints the results as a
// table.
//
//	go run ./cluster                 everything, about six minutes
//	go run ./cluster --only start    one part of it
//
// The peer is controller-runtime's envtest with kube-apiserver and etcd, built from the versions that Operon embeds
// (bench/peers). Rounds of the two alternate, so other load on the machine affects both. Each result is the median of its
// rounds, and ratios are compared with goals.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// part is one measurement. It adds its figures to the table.
type part struct {
	name string
	run  func(context.Context, *bench) error
}

var parts = []part{
	{"start", start},
	{"use", use},
	{"reset", reset},
	{"deployments", deployments},
	{"up", up},
}

// bench is the state that the parts share.
type bench struct {
	home            cluster.Home
	rounds, objects int
	table           []report.Figure
}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	b := &bench{}
	flag.IntVar(&b.rounds, "rounds", 7, "how often start, use, reset and up are measured")
	flag.IntVar(&b.objects, "objects", 1000, "how many objects reset and deployments work on")
	only := flag.String("only", "", "comma-separated parts to run: "+strings.Join(names(), ", "))
	flag.Parse()
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if b.home, err = cluster.NewHome(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.home.Clear()) }()
	if err := build(ctx, b.home); err != nil {
		return err
	}
	for _, p := range chosen {
		progress("%s", p.name)
		if err := p.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return report.Write(os.Stdout, "envtest", b.table)
}

func names() []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func choose(only string) ([]part, error) {
	if only == "" {
		return parts, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(names(), name)
		if i < 0 {
			return nil, fmt.Errorf("--only %q: want some of %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
