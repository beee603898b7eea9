package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// unfinished is the prefix of the names of directories for builds in progress.
const unfinished = "building-"

// build builds a program and moves it to target when it is complete.
func build(ctx context.Context, from source, target string, progress io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("build %s: there is no go command on the PATH; install Go from your system's packages, or set %s to a built binary", from.program, variables[from.program])
	}
	cache := filepath.Dir(filepath.Dir(target))
	folder, err := os.MkdirTemp(cache, unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	report := newReport(from.program, progress)
	defer report.stop()
	if err := from.compile(ctx, folder, report); err != nil {
		return err
	}
	if err := os.Rename(folder, filepath.Dir(target)); err != nil {
		return err
	}
	report.done()
	return nil
}

// compile runs the go command: in the checkout, or else for the released version.
func (s source) compile(ctx context.Context, folder string, report *report) error {
	if s.dir == "" {
		return goCommand(ctx, report, "", []string{"GOBIN=" + folder}, "install", "-v", "-ldflags=-s -w", clusterModule+"/cmd/"+s.program+"@"+s.version)
	}
	report.phase("downloading modules")
	count, err := s.countPackages(ctx, report)
	if err != nil {
		return err
	}
	report.expect(count)
	report.phase("compiling")
	return goCommand(ctx, report, s.dir, nil, "build", "-v", "-mod=readonly", "-ldflags=-s -w", "-o", filepath.Join(folder, s.program), "./cmd/"+s.program)
}

// countPackages counts the packages of a clean build. It downloads missing modules.
func (s source) countPackages(ctx context.Context, report *report) (int, error) {
	var list bytes.Buffer
	command := newGoCommand(ctx, s.dir, nil, "list", "-mod=readonly", "-deps", "./cmd/"+s.program)
	command.Stdout = &list
	if err := runReporting(ctx, command, report); err != nil {
		return 0, err
	}
	return bytes.Count(list.Bytes(), []byte("\n")), nil
}

func goCommand(ctx context.Context, report *report, dir string, env []string, args ...string) error {
	return runReporting(ctx, newGoCommand(ctx, dir, env, args...), report)
}

// newGoCommand prepares a go command in a separate process group, which ends with ctx.
func newGoCommand(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = 5 * time.Second
	return command
}

// runReporting runs a go command and reports its output on stderr.
func runReporting(ctx context.Context, command *exec.Cmd, report *report) error {
	lines := &lineWriter{line: report.line}
	command.Stderr = lines
	err := command.Run()
	lines.flush()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("build %s: stopped: %w", report.program, cause)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("build %s: `go %s` failed:\n%s", report.program, command.Args[1], strings.Join(report.last(), "\n"))
	}
	return fmt.Errorf("build %s: %w", report.program, err)
}

// lineWriter calls line for each line that is written to it.
type lineWriter struct {
	line func(string)
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		before, after, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.line(string(before))
		w.rest = after
	}
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.line(string(w.rest))
		w.rest = nil
	}
}
