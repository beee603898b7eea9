package process

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local"
)

// stock copies the program that runs operators without Go code to target: the program at $OPERON_ENGINE_BINARY, or else the program next to
// this executable, or else a program built from the sources of this executable.
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
	sources, err := project.StockSources(ctx)
	if err != nil {
		return fmt.Errorf("%w; or set OPERON_ENGINE_BINARY to the program", err)
	}
	return compile(ctx, sources, target, project.StockMain, "GOWORK=off")
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
