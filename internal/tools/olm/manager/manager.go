// Package manager provides the lifecycle manager, the program operon-olm, and its project: the manifests and what else `operon up` and
// `operon deploy` need to know about it, which are part of the program. So neither Go nor the sources of Operon are needed.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/local"
)

// Variable is the environment variable that names the program.
const Variable = "OPERON_OLM_BINARY"

// program is the lifecycle manager. Without cgo, it needs no libraries, which its image does not have.
var program = process.Program{Main: ".", Name: "operon-olm", Module: "olm", Variable: Variable, Environment: []string{"CGO_ENABLED=0"}}

// Manager is the lifecycle manager in a directory of this user.
type Manager struct {
	// Dir is its project, and Program the path of the program.
	Dir, Program string
}

// Open provides the program and its project, in $OPERON_HOME/olm. The program is the one that $OPERON_OLM_BINARY names, the one next to this
// executable, or one that is built from the sources of this executable. tell receives descriptions of the progress.
func Open(ctx context.Context, tell func(string)) (*Manager, error) {
	home, err := local.Folder("olm")
	if err != nil {
		return nil, err
	}
	lock, err := local.WaitLock(ctx, filepath.Join(home, "lock"), func() { tell("waiting for another process that prepares operon-olm") })
	if err != nil {
		return nil, err
	}
	m := &Manager{Dir: filepath.Join(home, "project"), Program: filepath.Join(home, program.Name)}
	return m, errors.Join(m.provide(ctx), lock.Unlock())
}

func (m *Manager) provide(ctx context.Context) error {
	if err := process.Provide(ctx, program, m.Program); err != nil {
		return err
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return fmt.Errorf("prepare the project of operon-olm: %w", err)
	}
	return m.WriteProject(ctx, m.Dir)
}

// WriteProject writes its project to an existing directory, for a manager beside the one of `operon olm up`.
func (m *Manager) WriteProject(ctx context.Context, dir string) error {
	said, err := exec.CommandContext(ctx, m.Program, "project", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("write the project of operon-olm: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// Build copies the program to target.
func (m *Manager) Build(_ context.Context, target string) error {
	content, err := os.ReadFile(m.Program)
	if err != nil {
		return fmt.Errorf("copy operon-olm: %w", err)
	}
	next := target + ".next"
	if err := os.WriteFile(next, content, 0o700); err != nil { //nolint:gosec // a program of this user
		return fmt.Errorf("copy operon-olm: %w", err)
	}
	return os.Rename(next, target)
}
