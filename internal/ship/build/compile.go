package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// CompileError is the error of an operator that does not compile.
type CompileError struct {
	// Platform is the platform for which it was compiled.
	Platform string
	// Output is the output of the go command.
	Output string
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("the operator does not compile for %s:\n%s", e.Platform, e.Output)
}

// toolchain is the go command with settings that are the same for all users.
type toolchain struct {
	dir  string
	tags string
}

func newToolchain(dir string, tags []string) (toolchain, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return toolchain{}, errors.New("there is no go command on the PATH to build the operator with; install Go from your system's packages")
	}
	return toolchain{dir: dir, tags: strings.Join(tags, ",")}, nil
}

// command prepares the go command in its own process group, which ends with ctx. It overrides the user's everyday settings.
// GOFLAGS contains -trimpath only because an empty GOFLAGS would be looked up elsewhere.
func (t toolchain) command(ctx context.Context, env []string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = t.dir
	command.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath"), env...)
	command.SysProcAttr = attributes()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = 5 * time.Second
	return command
}

// settled lists variables that affect what is compiled.
var settled = []string{"GOVERSION", "GOROOT", "GOWORK", "GOEXPERIMENT", "GOFIPS140", "GOMODCACHE", "GOTOOLCHAIN"}

// settings returns the settings of the go command in this project that are not files.
func (t toolchain) settings(ctx context.Context) (map[string]string, error) {
	output, err := t.output(ctx, nil, append([]string{"env", "-json"}, settled...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{"tags": t.tags}
	return found, json.Unmarshal(output, &found)
}

// turns lets one go command compile at a time. Several that begin with an empty cache would each compile what they share.
var turns = make(chan struct{}, 1)

// compile builds the main package to a file, without any information about this machine.
func (t toolchain) compile(ctx context.Context, target platform, main, file string, extra []string) error {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	flags := slices.Concat([]string{"build"}, t.flags(), []string{"-ldflags", "-s -w -buildid=", "-o", file}, extra, []string{main})
	_, err := t.output(ctx, target.env, flags...)
	return refused(target, err)
}

// flags are the flags that affect compiled packages.
func (t toolchain) flags() []string { return []string{"-trimpath", "-buildvcs=false", "-tags", t.tags} }

// refused converts an error of the go command about the project to a CompileError.
func refused(target platform, err error) error {
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return err
	}
	said := strings.TrimSpace(string(failed.Stderr))
	if strings.Contains(said, syscall.ENOSPC.Error()) { // another process reports it, as text
		return fmt.Errorf("a disk is full: GOCACHE, GOTMPDIR or OPERON_HOME; free space, or set another directory\n%s", said)
	}
	if strings.Contains(said, "build constraints exclude all Go files") {
		said += "\nprograms in images are built without cgo, as there is no C library: leave out what imports C, or give --tags"
	}
	return &CompileError{Platform: target.String(), Output: said}
}

// output runs the go command and returns its standard output. Errors contain its standard error.
func (t toolchain) output(ctx context.Context, env []string, arguments ...string) ([]byte, error) {
	command := t.command(ctx, env, arguments...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exit.Stderr = stderr.Bytes()
		return nil, fmt.Errorf("go %s: %w: %s", arguments[0], exit, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), err
}
