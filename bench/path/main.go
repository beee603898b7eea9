// Command path reports which code runs after a change of a spec, from the watch event to the status: the packages and files of
// Operon in which code ran, according to the coverage of a real operator in a real cluster.
//
//	go run ./path
//
// It builds itself with coverage and runs the result as the operator. When a Box with one ConfigMap has converged and the
// operator is idle, the counters are cleared and the Box's spec is changed. The counters are read when the status has the new
// generation and the operator is idle again.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

const module = "github.com/operon-framework/operon"

// operatorEnv contains the directory for the counters in the process that is the operator.
const operatorEnv = "BENCH_PATH_COUNTERS"

func main() {
	ctrl.SetLogger(logr.Discard())
	if dir := os.Getenv(operatorEnv); dir != "" {
		report.Main(func(ctx context.Context) error { return operate(ctx, dir) })
		return
	}
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	c, err := cluster.Start(ctx, cluster.Options{Name: "bench-path"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	dir, err := os.MkdirTemp("", "bench-path-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's directory for temporary files
	binary, counters, profile := filepath.Join(dir, "operator"), filepath.Join(dir, "counters"), filepath.Join(dir, "profile")
	if err := os.Mkdir(counters, 0o700); err != nil {
		return err
	}
	steps := []*exec.Cmd{
		exec.CommandContext(ctx, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", binary, "./path"),
		exec.CommandContext(ctx, binary),
		exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile),
	}
	steps[1].Env = append(os.Environ(), operatorEnv+"="+counters, "KUBECONFIG="+c.Kubeconfig)
	for _, step := range steps {
		step.Stdout, step.Stderr = os.Stderr, os.Stderr
		if err := step.Run(); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	files, err := ran(profile)
	if err != nil {
		return err
	}
	return write(files)
}

// ran returns the files of Operon in which code ran, by package.
func ran(profile string) (map[string][]string, error) {
	file, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	found := map[string][]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		place, _, ok := strings.Cut(lines.Text(), ":")
		name, own := strings.CutPrefix(place, module+"/")
		if !ok || !own || strings.HasSuffix(lines.Text(), " 0") || strings.HasPrefix(name, "bench/") || strings.HasPrefix(name, "internal/testing/") {
			continue
		}
		if dir := path.Dir(name); !slices.Contains(found[dir], name) {
			found[dir] = append(found[dir], name)
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(lines.Err(), errors.New("no code of Operon ran"))
	}
	return found, lines.Err()
}

// The goals.
const maxPackages, maxFiles = 8, 35

func write(files map[string][]string) error {
	count := 0
	var dirs []string
	for dir, names := range files {
		count += len(names)
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		var names []string
		for _, name := range files[dir] {
			names = append(names, path.Base(name))
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "%s: %s\n", dir, strings.Join(names, " "))
	}
	return report.Write(os.Stdout, "–", []report.Figure{
		{Name: "packages that a spec change runs through", Operon: fmt.Sprint(len(files)), Goal: fmt.Sprintf("≤ %d", maxPackages), Met: report.Judge(len(files) <= maxPackages)},
		{Name: "files", Operon: fmt.Sprint(count), Goal: fmt.Sprintf("≤ %d", maxFiles), Met: report.Judge(count <= maxFiles)},
	})
}
