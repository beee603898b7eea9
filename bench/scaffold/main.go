// Command scaffold creates operators from scratch, like a new user would, and measures how long that takes: a project with a
// kind, and that project running in a separate cluster until its sample is Ready.
//
//	go run ./scaffold --rounds 5
//
// The peer is the compiler: `go build` of the same project in another directory. The dependencies of both were compiled before,
// and Operon's two programs are built, as on a machine on which an operator has already been created.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

func main() { report.Main(run) }

// bench contains the working directory and the measured times.
type bench struct {
	folder string
	took   map[string][]time.Duration
}

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 5, "how often each is measured")
	flag.Parse()
	folder, err := os.MkdirTemp("", "operon-bench-scaffold-")
	if err != nil {
		return err
	}
	b := &bench{folder: folder, took: map[string][]time.Duration{}}
	defer func() { err = errors.Join(err, b.clear()) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	for round := range *rounds + 1 {
		if round == 1 { // the previous round filled the compiler's cache
			clear(b.took)
		}
		if err := b.round(ctx, round); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round, *rounds)
	}
	return b.write()
}

// build builds Operon, and its cluster command unless a binary is given.
func (b *bench) build(ctx context.Context) error {
	if err := report.Build(ctx, ".", "./cmd/operon", b.file("operon")); err != nil {
		return err
	}
	if os.Getenv("OPERON_CLUSTER_BINARY") != "" {
		return nil
	}
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster", b.file("operon-cluster")); err != nil {
		return err
	}
	return os.Setenv("OPERON_CLUSTER_BINARY", b.file("operon-cluster"))
}

// clear stops the clusters that an interrupted round left running.
func (b *bench) clear() error {
	_, err := b.command(context.Background(), b.folder, b.file("operon"), "cluster", "down", "--all")
	return errors.Join(err, os.RemoveAll(b.folder))
}

func (b *bench) file(elements ...string) string {
	return filepath.Join(append([]string{b.folder}, elements...)...)
}

func (b *bench) round(ctx context.Context, round int) error {
	mine, peers := b.file(fmt.Sprint("mine-", round)), b.file(fmt.Sprint("peers-", round))
	for _, dir := range []string{mine, peers} {
		if err := b.create(ctx, dir); err != nil {
			return err
		}
	}
	operon := b.file("operon")
	for _, step := range []struct {
		name, dir, program string
		arguments          []string
	}{
		{"go build", peers, "go", []string{"build", "-o", "program", "."}},
		{"up --once", mine, operon, []string{"up", "--once"}},
		{"", mine, operon, []string{"cluster", "down"}},
		{"second kind", mine, operon, []string{"create", "api", "--group", "cache", "--version", "v1alpha1", "--kind", "Lamp"}},
	} {
		took, err := b.command(ctx, step.dir, step.program, step.arguments...)
		if err != nil {
			return err
		}
		b.took[step.name] = append(b.took[step.name], took)
	}
	return errors.Join(os.RemoveAll(mine), os.RemoveAll(peers))
}

// create creates a project with a kind.
func (b *bench) create(ctx context.Context, dir string) error {
	made, err := b.command(ctx, b.folder, b.file("operon"), "init", dir)
	if err != nil {
		return err
	}
	kind, err := b.command(ctx, dir, b.file("operon"), "create", "api", "--group", "cache", "--version", "v1alpha1", "--kind", "Memcached")
	b.took["init and create api"] = append(b.took["init and create api"], made+kind)
	return err
}

func (b *bench) command(ctx context.Context, dir, program string, arguments ...string) (time.Duration, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "OPERON_HOME="+b.file("home"), "GOFLAGS=-mod=mod")
	began := time.Now()
	output, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w\n%s", filepath.Base(program), arguments, err, output)
	}
	return time.Since(began), nil
}

func (b *bench) write() error {
	created, up := report.Within("`init` and `create api`", b.took["init and create api"], time.Second), report.Within("`up --once` then, until Ready", b.took["up --once"], 20*time.Second)
	figures := []report.Figure{
		created, report.AtMost("… to `go build`", b.took["init and create api"], b.took["go build"], report.Seconds, 0),
		report.AtMost("`create api`, a second kind, to `go build`", b.took["second kind"], b.took["go build"], report.Seconds, 0),
		up, report.AtMost("… to `go build`", b.took["up --once"], b.took["go build"], report.Seconds, 0),
	}
	return report.Write(os.Stdout, "go build", figures)
}
