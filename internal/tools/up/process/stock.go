package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local"
)

// engine is the program that runs operators without Go code.
var engine = Program{Main: project.StockMain, Variable: "OPERON_ENGINE_BINARY"}

// Engine returns the path of the existing program that runs operators without Go code, or "" if it has to be compiled.
func Engine() string { return engine.existing() }

// Program is a program that is part of Operon.
type Program struct {
	// Main is its main package. The last element is its name, unless Name is set.
	Main, Name string
	// Module is the directory of its module in the sources of Operon. The default is the root module.
	Module string
	// Variable is the environment variable that names the program.
	Variable string
	// Environment is set in addition when the program is built, as "NAME=value".
	Environment []string
}

// Provide copies a program to target: the one that its variable names, or else the one next to this executable, or else one that is built
// from the sources of this executable.
func Provide(ctx context.Context, of Program, target string) error {
	name := of.name()
	if existing := of.existing(); existing != "" {
		return replace(name, existing, target)
	}
	sources, err := project.StockSources(ctx)
	if err != nil {
		return fmt.Errorf("%w; or set %s to the program", err, of.Variable)
	}
	sources = filepath.Join(sources, of.Module)
	if _, err := os.Stat(sources); err != nil {
		return fmt.Errorf("find %s: it is not next to this executable, and its sources are not known: set %s to the program", name, of.Variable)
	}
	return compile(ctx, sources, target, of.Main, append([]string{"GOWORK=off"}, of.Environment...)...)
}

func (p Program) name() string { return cmp.Or(p.Name, path.Base(p.Main)) }

// existing returns the path of the program that its variable names, or else that of the one next to this executable, or "" if there is none.
func (p Program) existing() string {
	if named := os.Getenv(p.Variable); named != "" {
		return named
	}
	return local.Beside(p.name())
}

// replace copies a program to target.
func replace(name, from, target string) error {
	next := target + ".next"
	defer os.Remove(next)
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("copy the program %s: %w", name, err)
	}
	if err := copyFile(from, next); err != nil {
		return fmt.Errorf("copy the program %s: %w", name, err)
	}
	return os.Rename(next, target)
}
