package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local"
)

// stock writes the program that runs operators without Go to target: the one that OPERON_ENGINE_BINARY names, the one beside
// this executable, or else one that is built from the sources of this executable.
func stock(ctx context.Context, target string) error {
	name := path.Base(project.StockMain)
	if named := os.Getenv("OPERON_ENGINE_BINARY"); named != "" {
		return replace(named, target)
	}
	if executable, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(executable), name)
		if _, err := os.Stat(beside); err == nil && local.Trusted(beside) == nil {
			return replace(beside, target)
		}
	}
	_, source, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(source), "..", "..", "..", "..")
	if filepath.IsAbs(root) && local.Trusted(filepath.Join(root, "go.mod")) == nil {
		return compile(ctx, root, target, "./cmd/"+name)
	}
	version := releaseOf()
	if version == "" {
		return fmt.Errorf("find %s: this executable has neither a released version nor a checkout to build it from; set OPERON_ENGINE_BINARY to the program", name)
	}
	return install(ctx, version, target)
}

// replace copies a program to target.
func replace(from, target string) error {
	next := target + ".next"
	defer os.Remove(next)
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("copy the program that runs watches.yaml: %w", err)
	}
	if err := copyFile(from, next); err != nil {
		return fmt.Errorf("copy the program that runs watches.yaml: %w", err)
	}
	return os.Rename(next, target)
}

// releaseOf returns the released version of this executable, or "".
func releaseOf() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+") {
		return ""
	}
	return info.Main.Version
}

// install builds a released version of the program.
func install(ctx context.Context, version, target string) error {
	folder, err := os.MkdirTemp(filepath.Dir(target), "engine-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	command := exec.CommandContext(ctx, "go", "install", project.StockMain+"@"+version)
	command.Env = append(os.Environ(), "GOBIN="+folder, "GOWORK=off")
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &CompileError{Output: strings.TrimSpace(string(output))}
	}
	if err != nil {
		return fmt.Errorf("build the program that runs watches.yaml: %w", err)
	}
	return os.Rename(filepath.Join(folder, path.Base(project.StockMain)), target)
}
