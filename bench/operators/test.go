package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/bench/internal/proving"
	results "github.com/operon-framework/operon/internal/prove/report"
)

// result is the report of an operator.
type result struct {
	operator operator
	results.Report
}

// test runs `operon prove` on an operator.
func (b *bench) test(ctx context.Context, o operator) (result, error) {
	released, err := b.build(ctx, o)
	if err != nil {
		return result{}, err
	}
	arguments := []string{
		"--budget", b.budget.String(), "--plans", "2000", "--run", "exec " + b.binary(o) + " " + o.run,
		"--crds", filepath.Join(released, o.crds), "--samples", o.files(b.source, "samples.yaml"),
	}
	if o.settle != "" {
		arguments = append(arguments, "--settle", o.settle)
	}
	for flag, name := range map[string]string{"--accept": "findings.yaml", "--setup": "setup.yaml"} {
		if path := o.files(b.source, name); exists(path) {
			arguments = append(arguments, flag, path)
		}
	}
	proving.Progress("prove %s for %s", o.name, b.budget)
	found, err := proving.Run(ctx, b.operon, b.path("test", o.name), arguments...)
	return result{o, found}, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
