package report

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds a target of one of the repository's modules, which is named by its directory, and writes it to out.
func Build(ctx context.Context, module, target, out string) error {
	root, err := Repository(ctx)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-o", out, target)
	command.Dir, command.Stderr = filepath.Join(root, module), os.Stderr
	return command.Run()
}

// Repository returns the directory of the checkout in which the benchmark runs.
func Repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	bench := filepath.Dir(strings.TrimSpace(string(out)))
	if filepath.Base(bench) != "bench" {
		return "", errors.New("run this in the directory bench of a checkout")
	}
	return filepath.Dir(bench), nil
}
