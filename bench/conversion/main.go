// Command conversion reads and writes objects in the storage version and in another version, alternating, and prints the cost
// of their conversion.
//
//	go run ./conversion --requests 5000
//
// An operator on the same machine as the API server serves the conversion webhook, with its own CA. A kind has one field, whose
// name differs between the versions. Each version has a separate object: if both versions write the same object, API servers
// convert it for both, to determine who owns which field. The requests of a round are sent one at a time, in a random order.
// 100 rounds at the beginning are not counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// warmUp is the number of rounds at the beginning that are not counted.
const warmUp = 100

// goal is the maximum time that conversion may add to the 99th percentile of requests.
const goal = 5 * time.Millisecond

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	requests := flag.Int("requests", 5000, "requests of each sort")
	flag.Parse()
	c, err := cluster.Start(ctx, cluster.Options{Name: "bench-conversion", CRD: parcels, API: addParcel})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	w, err := newWorld(ctx, c)
	if err != nil {
		return err
	}
	defer w.stop()
	took, err := w.measure(ctx, *requests)
	if err != nil {
		return err
	}
	return write(took)
}

// sort is a kind of requests.
type sort struct{ verb, version string }

// measure sends rounds with one request of each kind.
func (w *world) measure(ctx context.Context, rounds int) (map[sort][]time.Duration, error) {
	took := map[sort][]time.Duration{}
	sorts := []sort{{"get", stored}, {"get", other}, {"update", stored}, {"update", other}}
	for round := range rounds + warmUp {
		rand.Shuffle(len(sorts), func(i, j int) { sorts[i], sorts[j] = sorts[j], sorts[i] })
		for _, one := range sorts {
			spent, err := w.send(ctx, one, round)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", one.verb, one.version, err)
			}
			if round >= warmUp {
				took[one] = append(took[one], spent)
			}
		}
	}
	return took, nil
}

// send sends a request and checks its response.
func (w *world) send(ctx context.Context, one sort, round int) (time.Duration, error) {
	object := parcel(one.version)
	began := time.Now()
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return 0, err
	}
	if addressee(object) == "" {
		return 0, errors.New("the object was not converted")
	}
	if one.verb == "get" {
		return time.Since(began), nil
	}
	change := parcel(one.version)
	address(change, fmt.Sprint("addressee ", round))
	began = time.Now()
	err := w.client.Patch(ctx, change, client.Merge)
	return time.Since(began), err
}

// write prints the table.
func write(took map[sort][]time.Duration) error {
	var figures []report.Figure
	for _, verb := range []string{"get", "update"} {
		plain, converted := took[sort{verb, stored}], took[sort{verb, other}]
		slices.Sort(plain)
		slices.Sort(converted)
		for _, part := range []struct {
			name string
			at   float64
		}{{"median", 0.5}, {"p99", 0.99}} {
			before, after := at(plain, part.at), at(converted, part.at)
			figure := report.Figure{
				Name:   fmt.Sprintf("%s, %s: added by conversion", verb, part.name),
				Operon: shown(after - before), Peer: fmt.Sprintf("%s without, %s with", shown(before), shown(after)), Met: report.None,
			}
			if part.name == "p99" {
				figure.Goal, figure.Met = "≤ 5 ms", report.Met
				if after-before > goal {
					figure.Met = report.Missed
				}
			}
			figures = append(figures, figure)
		}
	}
	return report.Write(os.Stdout, "the request", figures)
}

func at(sorted []time.Duration, part float64) time.Duration {
	return sorted[int(part*float64(len(sorted)-1))]
}

func shown(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }
