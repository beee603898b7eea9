// Command generate generates everything for a project with eight kinds, with `operon generate` and with controller-gen as in
// kubebuilder's Makefile, alternating, and compares the times.
//
//	go run ./generate --rounds 7
//
// The project has kubebuilder's layout, so both do the same: before the measurements, it is checked that they write the same
// files. Both are binaries that are built in advance. For a cold run, the cache of Operon is removed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

func main() { report.Main(run) }

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 7, "how often each is measured")
	flag.Parse()
	folder, err := os.MkdirTemp("", "operon-bench-generate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder, took: map[string][]took{}}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for round := range *rounds {
		if err := b.round(ctx, round); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
	}
	return b.write()
}

// bench contains a project, the two programs, and the measurements.
type bench struct {
	folder string
	took   map[string][]took
}

// took is the time of one run.
type took struct{ wall, cpu time.Duration }

func (b *bench) file(elements ...string) string {
	return filepath.Join(append([]string{b.folder}, elements...)...)
}

func (b *bench) prepare(ctx context.Context) error {
	if err := report.Build(ctx, ".", "./cmd/operon", b.file("operon")); err != nil {
		return err
	}
	if err := report.Build(ctx, ".", "sigs.k8s.io/controller-tools/cmd/controller-gen", b.file("controller-gen")); err != nil {
		return err
	}
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	if err := writeProject(root, b.file("project")); err != nil {
		return err
	}
	if err := b.peer(ctx, "warm-up"); err != nil {
		return err
	}
	return b.same(ctx)
}

// same returns an error unless both write the same files.
func (b *bench) same(ctx context.Context) error {
	if err := b.operon(ctx, "warm-up", "--check", "--again"); err != nil {
		return fmt.Errorf("Operon would write other files than controller-gen: %w", err)
	}
	return nil
}

func (b *bench) round(ctx context.Context, round int) error {
	steps := []func() error{
		func() error { return b.peer(ctx, "peer") },
		func() error { return os.RemoveAll(b.file("home")) },
		func() error { return b.operon(ctx, "cold") },
		// The next run would read recently written files again, because their modification time is not sufficient.
		func() error { return age(b.file("project")) },
		func() error { return b.operon(ctx, "warm") },
		func() error { return b.operon(ctx, "unchanged") },
		func() error { return editType(b.file("project"), round) },
		func() error { return b.operon(ctx, "edited") },
		func() error { return b.peer(ctx, "peer, edited") },
		func() error { return b.same(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// peer runs controller-gen as in kubebuilder's Makefile: for manifests, and for code.
func (b *bench) peer(ctx context.Context, name string) error {
	var both took
	for _, arguments := range [][]string{manifests, methods} {
		one, err := b.time(ctx, b.file("controller-gen"), arguments...)
		if err != nil {
			return err
		}
		both.wall += one.wall
		both.cpu += one.cpu
	}
	b.took[name] = append(b.took[name], both)
	return nil
}

func (b *bench) operon(ctx context.Context, name string, flags ...string) error {
	one, err := b.time(ctx, b.file("operon"), append([]string{"generate"}, flags...)...)
	b.took[name] = append(b.took[name], one)
	return err
}

// time runs a program in the project. The processor time includes the processes that it started.
func (b *bench) time(ctx context.Context, program string, arguments ...string) (took, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = b.file("project")
	command.Env = append(os.Environ(), "OPERON_HOME="+b.file("home"))
	started := time.Now()
	output, err := command.CombinedOutput()
	if err != nil {
		return took{}, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, output)
	}
	return took{time.Since(started), command.ProcessState.UserTime() + command.ProcessState.SystemTime()}, nil
}

func (b *bench) write() error {
	var figures []report.Figure
	for _, one := range []struct {
		figure, name, peer string
		goal               float64
	}{
		{"all generators, cold", "cold", "peer", 0.6},
		{"nothing changed", "unchanged", "peer", 0.1},
		{"one type edited", "edited", "peer, edited", 0.5},
	} {
		wall := func(t took) time.Duration { return t.wall }
		cpu := func(t took) time.Duration { return t.cpu }
		figures = append(figures,
			report.AtMost(one.figure, each(b.took[one.name], wall), each(b.took[one.peer], wall), report.Seconds, one.goal),
			report.AtMost("… CPU", each(b.took[one.name], cpu), each(b.took[one.peer], cpu), report.Seconds, 0),
		)
	}
	return report.Write(os.Stdout, "controller-gen", figures)
}

func each(all []took, of func(took) time.Duration) []time.Duration {
	var values []time.Duration
	for _, one := range all {
		values = append(values, of(one))
	}
	return values
}
