// Command catalog makes a catalog and measures how it is served: the time to open its cache, the time of queries, and the memory of the
// server.
//
//	go run ./catalog --bundles 10000
//
// The bundles are in packages of 25, in two channels each, and have the metadata of a ClusterServiceVersion of about 20 KB.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/bench/internal/fbc"
	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
)

// memoryGoal is the memory that the server may use, in bytes.
const memoryGoal = 60_000_000

// workload is a catalog.
type workload struct {
	dir      string
	packages int
}

func main() { report.Main(run) }

func run(ctx context.Context) (err error) {
	bundles := flag.Int("bundles", 10_000, "bundles in the catalog")
	rounds := flag.Int("rounds", 500, "queries of each sort")
	keep := flag.String("keep", "", "make the catalog in this directory, and keep it")
	flag.Parse()
	work, err := os.MkdirTemp("", "bench-catalog-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	w := workload{dir: filepath.Join(work, "catalog"), packages: max(*bundles/fbc.PerPackage, 1)}
	if *keep != "" {
		w.dir = *keep
	}
	size, err := fbc.Write(w.dir, w.packages)
	if err != nil {
		return err
	}
	binary, cache := filepath.Join(work, "operon"), filepath.Join(work, "cache")
	if err := report.Build(ctx, ".", "./cmd/operon", binary); err != nil {
		return err
	}
	figures := []report.Figure{{Name: "size of the catalog", Operon: report.Megabytes(size), Met: report.None}}
	built, err := build(ctx, binary, w.dir, cache)
	if err != nil {
		return err
	}
	figures = append(figures, built...)
	opened, err := open(ctx, store.Options{Sources: []string{w.dir}, Dir: cache})
	if err != nil {
		return err
	}
	figures = append(figures, opened)
	served, err := serve(ctx, binary, cache, w, *rounds)
	if err != nil {
		return err
	}
	return report.Write(os.Stdout, "–", append(figures, served...))
}

// open measures how long it takes to open the cache, with the check that the files of the catalog are unchanged.
func open(ctx context.Context, o store.Options) (report.Figure, error) {
	var took []time.Duration
	for range 21 {
		begin := time.Now()
		s, err := store.Open(ctx, o)
		took = append(took, time.Since(begin))
		if err != nil {
			return report.Figure{}, err
		}
		if err := s.Close(); err != nil {
			return report.Figure{}, err
		}
	}
	f := report.Within("open the cache, median", took, timing.openGoal)
	f.Operon = milliseconds(report.Median(took))
	return f, nil
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
