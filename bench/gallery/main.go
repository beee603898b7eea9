// Command gallery runs `operon prove` as a user does on the operators of the bug corpus (docs/prove/gallery.md), one after the
// other, each with a cluster of its own, and prints which bugs were found, after how many test cases, and how long it took:
//
//	go run ./gallery                         # operators with a bug, a minute each
//	go run ./gallery --correct               # correct operators, 60 test cases each
//	go run ./gallery --only half-made,wedged
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
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

func main() { report.Main(run) }

// settings are the flags.
type settings struct {
	budget  time.Duration
	plans   int
	correct bool
	only    string
	home    string
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.DurationVar(&s.budget, "budget", time.Minute, "how long test cases are started for an operator with a bug")
	flag.IntVar(&s.plans, "plans", 60, "how many test cases a correct operator has to pass")
	flag.BoolVar(&s.correct, "correct", false, "test the correct operators in place of those with a bug")
	flag.StringVar(&s.only, "only", "", "the operators to test, separated by commas (default: all)")
	flag.StringVar(&s.home, "home", "", "the `DIRECTORY` for programs and reports, which stay there (default: a temporary one, which is removed)")
	flag.Parse()
	chosen, err := choose(s)
	if err != nil {
		return err
	}
	home := s.home
	if home == "" {
		if home, err = os.MkdirTemp("", "operon-bench"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	}
	if home, err = filepath.Abs(home); err != nil {
		return err
	}
	b, err := prepare(ctx, s, home)
	if err != nil {
		return err
	}
	var results []result
	var failed []error
	for i, o := range chosen {
		proving.Progress("%d of %d: %s", i+1, len(chosen), o.Name)
		r, err := b.test(ctx, o)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", o.Name, err))
			continue
		}
		proving.Progress("  %s", r)
		results = append(results, r)
	}
	return errors.Join(append(failed, write(os.Stdout, s, results))...)
}

// choose returns the operators to test.
func choose(s settings) ([]operators.Operator, error) {
	all := slices.DeleteFunc(operators.All(), func(o operators.Operator) bool { return o.Correct != s.correct })
	if s.only == "" {
		return all, nil
	}
	var chosen []operators.Operator
	for name := range strings.SplitSeq(s.only, ",") {
		i := slices.IndexFunc(all, func(o operators.Operator) bool { return o.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no such operator with --correct=%t: %q; prove/testdata/gallery --list lists them", s.correct, name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// bench tests operators of the corpus.
type bench struct {
	settings
	// source is the directory of the corpus. home is that of the programs and reports.
	source, home string
	operon       string
}

// prepare builds Operon and the corpus.
func prepare(ctx context.Context, s settings, home string) (*bench, error) {
	root, err := report.Repository(ctx)
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, source: filepath.Join(root, "prove", "testdata", "gallery"), home: home}
	if b.operon, err = proving.Build(ctx, home); err != nil {
		return nil, err
	}
	return b, report.Build(ctx, ".", "./prove/testdata/gallery", b.program())
}

func (b *bench) program() string { return filepath.Join(b.home, "gallery") }

// test runs `operon prove` on an operator.
func (b *bench) test(ctx context.Context, o operators.Operator) (result, error) {
	command := "exec " + b.program() + " " + o.Name
	if !o.Wide {
		command += " --namespace {namespace}"
	}
	arguments := []string{"-q", "--run", command, "--samples", filepath.Join(b.source, o.Samples), "--crds", filepath.Join(b.source, o.CRDs[0])}
	if o.Role != "" {
		arguments = append(arguments, "--rbac", filepath.Join(b.source, o.Role))
	}
	if o.Correct {
		arguments = append(arguments, "--plans", fmt.Sprint(b.plans), "--budget", "1h")
	} else {
		arguments = append(arguments, "--fail-fast", "--budget", b.budget.String())
	}
	began := time.Now()
	found, err := proving.Run(ctx, b.operon, filepath.Join(b.home, "test", o.Name), arguments...)
	return result{operator: o, Report: found, all: time.Since(began)}, err
}
