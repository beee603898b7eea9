package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/operon-framework/operon/internal/tools/gobuild"
	"github.com/operon-framework/operon/internal/tools/project"
)

// CompileError is the error of an operator that does not compile.
type CompileError struct {
	// Output is the output of the go command.
	Output string
}

func (e *CompileError) Error() string { return "the operator does not compile:\n" + e.Output }

// CanBuild returns an error that describes what is missing for building an operator with this main package. The program that runs operators
// without Go code may exist already.
func CanBuild(mainPackage string) error {
	if mainPackage == project.StockMain && engine.existing() != "" {
		return nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no go command on the PATH to build the operator with; install Go from your system's packages")
	}
	return nil
}

// Build compiles the main package in dir to target, which is replaced only on success. For errors in the project it returns a
// *CompileError.
func Build(ctx context.Context, dir, mainPackage, target string) error {
	if mainPackage == project.StockMain {
		return Provide(ctx, engine, target)
	}
	return compile(ctx, dir, target, mainPackage)
}

func compile(ctx context.Context, dir, target, mainPackage string, env ...string) error {
	next := target + ".next"
	defer os.Remove(next)
	if err := copyFile(target, next); err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	var output bytes.Buffer
	flags, cgo := gobuild.Flags()
	command := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags, linking(), []string{"-o", next, mainPackage})...)
	command.Dir, command.Env = dir, slices.Concat(os.Environ(), cgo, env)
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = 5 * time.Second
	err := command.Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &CompileError{Output: strings.TrimSpace(output.String()) + withoutCgo(output.String(), cgo)}
	}
	if err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	return os.Rename(next, target)
}

// withoutCgo explains what the go command says of a package that needs cgo.
func withoutCgo(said string, env []string) string {
	if len(env) == 0 || !strings.Contains(said, "build constraints exclude all Go files") {
		return ""
	}
	return "\noperators are compiled without cgo, as for images: set CGO_ENABLED=1 to compile this one with cgo"
}

// linking returns the flags that leave out the tables of debuggers, unless GOFLAGS has linker flags: after a change, linking takes most of the
// time, and the tables a quarter of that. Stack traces do not need them.
func linking() []string {
	if strings.Contains(os.Getenv("GOFLAGS"), "-ldflags") {
		return nil
	}
	return []string{"-ldflags=-w"}
}

// copyFile copies an executable if it exists. The go command does not write a binary that is up to date, and linking the same
// binary again would take seconds.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
