// Package proving runs `operon prove` for benchmarks. It imports only package report of the benchmarks, and the format of the
// reports.
package proving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/operon-framework/operon/bench/internal/report"
	results "github.com/operon-framework/operon/internal/prove/report"
)

// clusterBinary is the variable with the path of operon-cluster.
const clusterBinary = "OPERON_CLUSTER_BINARY"

// Build builds operon in a directory, and operon-cluster, unless OPERON_CLUSTER_BINARY names one. It returns the path of operon.
func Build(ctx context.Context, dir string) (string, error) {
	operon := filepath.Join(dir, "operon")
	Progress("build operon")
	if err := report.Build(ctx, ".", "./cmd/operon", operon); err != nil {
		return "", err
	}
	if os.Getenv(clusterBinary) != "" {
		return operon, nil
	}
	Progress("build operon-cluster, which takes minutes for the first time")
	cluster := filepath.Join(dir, "operon-cluster")
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster", cluster); err != nil {
		return "", err
	}
	return operon, os.Setenv(clusterBinary, cluster)
}

// exitFindings is the exit code of `operon prove` if there are failures.
const exitFindings = 1

// Run runs `operon prove` in a directory and returns its report. The files of the reports are in its directory "report".
func Run(ctx context.Context, operon, dir string, arguments ...string) (r results.Report, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	running := exec.CommandContext(ctx, operon, append([]string{"prove", "-o", "json", "--out", filepath.Join(dir, "report")}, arguments...)...)
	running.Dir, running.Stderr = dir, os.Stderr
	out, err := running.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == exitFindings {
		err = nil
	}
	if err != nil {
		return r, fmt.Errorf("operon prove: %w", err)
	}
	return r, json.Unmarshal(out, &r)
}

// Progress prints a line on standard error.
func Progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}
