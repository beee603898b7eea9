package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

// first measures `operon up --once` with an empty cache of the compiler, then the first `operon build`, and the same build with another empty
// cache. Operon itself is compiled like a release, into the user's own cache.
func (b bench) first(ctx context.Context, root string) (err error) {
	operon := b.file("operon")
	if err := b.release(ctx, root, operon); err != nil {
		return err
	}
	if os.Getenv("OPERON_CLUSTER_BINARY") == "" {
		if err := report.Build(ctx, "cluster", "./cmd/operon-cluster", b.file("operon-cluster")); err != nil {
			return err
		}
	}
	var took []time.Duration
	for _, step := range []struct {
		cache     string
		arguments []string
	}{
		{"cache", []string{"up", "--once"}},
		{"cache", []string{"build", "--tar", b.file("image.tar")}},
		{"other-cache", []string{"build", "--no-cache", "--tar", b.file("image.tar")}},
	} {
		one, err := b.withCache(ctx, step.cache, operon, step.arguments...)
		if err != nil {
			return errors.Join(err, b.down(operon))
		}
		fmt.Fprintf(os.Stderr, "operon %s: %s\n", step.arguments[0], one.Round(time.Second))
		took = append(took, one)
	}
	after := report.AtMost("first `operon build` after `operon up`", took[1:2], took[2:], report.Seconds, 0)
	return errors.Join(b.down(operon), report.Write(os.Stdout, "empty cache", []report.Figure{
		report.AtMost("`operon up --once`", took[:1], took[2:], report.Seconds, 0), after, report.Within("… alone", took[1:2], timing.afterUp),
	}))
}

// release compiles operon as release archives contain it.
func (b bench) release(ctx context.Context, root, target string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", target, "./cmd/operon")
	command.Dir, command.Stderr, command.Env = root, os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	return command.Run()
}

// withCache runs a command in the project with a cache of the compiler in the directory for output.
func (b bench) withCache(ctx context.Context, cache, program string, arguments ...string) (time.Duration, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir, command.Env = b.project, slices.Concat(os.Environ(), []string{"GOCACHE=" + b.file(cache), "OPERON_HOME=" + b.file("home")})
	began := time.Now()
	if output, err := command.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s %q: %w\n%s", filepath.Base(program), arguments, err, output)
	}
	return time.Since(began), nil
}

// down stops the cluster.
func (b bench) down(operon string) error {
	_, err := b.withCache(context.Background(), "cache", operon, "cluster", "down", "--all")
	return err
}
