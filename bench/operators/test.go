package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// result contains the printed part of a report.
type result struct {
	operator operator
	Took     time.Duration
	Plans    struct{ Run, Void int }
	Findings []finding
	Notes    []string
}

// finding is a finding of a report. Accepted is the explanation of a person who analyzed it.
type finding struct {
	Property, Level, Message, Accepted string
	Of                                 *struct{ Kind string }
	Flaky                              bool
}

// exitFindings is the exit code of `operon prove` if there are failures.
const exitFindings = 1

// test runs `operon prove` on an operator.
func (b *bench) test(ctx context.Context, o operator) (r result, err error) {
	released, err := b.build(ctx, o)
	if err != nil {
		return r, err
	}
	dir := b.path("test", o.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	arguments := []string{
		"prove", "--budget", b.budget.String(), "--plans", "2000", "-o", "json",
		"--run", "exec " + b.binary(o) + " " + o.run,
		"--crds", filepath.Join(released, o.crds), "--samples", o.files(b.source, "samples.yaml"), "--out", filepath.Join(dir, "report"),
	}
	if o.settle != "" {
		arguments = append(arguments, "--settle", o.settle)
	}
	for flag, name := range map[string]string{"--accept": "findings.yaml", "--setup": "setup.yaml"} {
		if path := o.files(b.source, name); exists(path) {
			arguments = append(arguments, flag, path)
		}
	}
	progress("prove %s for %s", o.name, b.budget)
	running := exec.CommandContext(ctx, b.path("operon"), arguments...)
	running.Dir, running.Stderr = dir, os.Stderr
	out, err := running.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == exitFindings {
		err = nil
	}
	if err != nil {
		return r, fmt.Errorf("operon prove: %w", err)
	}
	r.operator = o
	return r, json.Unmarshal(out, &r)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
