package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// CompileError is an operator that does not compile.
type CompileError struct {
	// Output is what the go command said.
	Output string
}

func (e *CompileError) Error() string { return "the operator does not compile:\n" + e.Output }

// Build compiles the main package in dir to target, which is replaced only when all went
// well. Errors in the project are a *CompileError.
func Build(ctx context.Context, dir, mainPackage, target string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no go command on the PATH to build the operator with; install Go from your system's packages")
	}
	next := target + ".next"
	defer os.Remove(next)
	var output bytes.Buffer
	command := exec.CommandContext(ctx, "go", "build", "-o", next, mainPackage)
	command.Dir = dir
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
		return &CompileError{Output: strings.TrimSpace(output.String())}
	}
	if err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	return os.Rename(next, target)
}
