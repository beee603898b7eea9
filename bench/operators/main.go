// Command operators runs `operon prove` on released operators that others wrote, and prints how many test cases it ran per minute
// and what it found:
//
//	go run ./operators --budget 5m --only cert-manager,elastic
//
// The operators are built as tools from the Go module proxy, each with the dependencies of its own release, so that they do not become
// dependencies of this module. CRDs come from the operators' modules. The samples, and the explanations of findings, are in testdata.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/bench/internal/proving"
	"github.com/operon-framework/operon/bench/internal/report"
)

func main() { report.Main(run) }

// settings are the flags.
type settings struct {
	budget time.Duration
	only   string
	home   string
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.DurationVar(&s.budget, "budget", 5*time.Minute, "how long test cases are started for each operator")
	flag.StringVar(&s.only, "only", "", "the operators to test, separated by commas (default: all)")
	flag.StringVar(&s.home, "home", "", "directory that keeps binaries and reports (default: a temporary one)")
	flag.Parse()
	chosen, err := choose(s.only)
	if err != nil {
		return err
	}
	if s.home == "" {
		if s.home, err = os.MkdirTemp("", "operon-bench"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.home)) }()
	}
	b := &bench{settings: s}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var results []result
	var failed []error
	for _, o := range chosen {
		r, err := b.test(ctx, o)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", o.name, err))
			continue
		}
		results = append(results, r)
	}
	return errors.Join(append(failed, write(os.Stdout, results))...)
}

// choose returns the operators with the names, or all operators if there are none.
func choose(names string) ([]operator, error) {
	if names == "" {
		return operators, nil
	}
	var chosen []operator
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(operators, func(o operator) bool { return o.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown operator %q: want %s", name, strings.Join(known(), ", "))
		}
		chosen = append(chosen, operators[i])
	}
	return chosen, nil
}

func known() []string {
	var all []string
	for _, o := range operators {
		all = append(all, o.name)
	}
	return all
}

// bench tests operators.
type bench struct {
	settings
	// source is this package's directory, and operon the path of the program.
	source, operon string
}

// prepare builds Operon.
func (b *bench) prepare(ctx context.Context) error {
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	b.source = filepath.Join(root, "bench", "operators")
	if b.home, err = filepath.Abs(b.home); err != nil {
		return err
	}
	b.operon, err = proving.Build(ctx, b.home)
	return err
}

func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.home}, elements...)...)
}
