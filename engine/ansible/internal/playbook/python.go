package playbook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// errNoAnsible says how to install Ansible.
var errNoAnsible = errors.New("Ansible is not found: no python3 can import it; install it, for example with apt-get install ansible-core python3-kubernetes, and the collection kubernetes.core; a virtual environment is used if VIRTUAL_ENV is set")

// findPython returns the first Python that can import Ansible: that of $VIRTUAL_ENV, of PATH, and of the system.
func findPython(ctx context.Context) (string, error) {
	var candidates []string
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		candidates = append(candidates, filepath.Join(env, "bin", "python3"))
	}
	if path, err := exec.LookPath("python3"); err == nil {
		candidates = append(candidates, path)
	}
	candidates = append(candidates, "/usr/bin/python3")
	for _, python := range candidates {
		if _, err := os.Stat(python); err != nil {
			continue
		}
		if err := exec.CommandContext(ctx, python, "-c", "import ansible").Run(); err == nil {
			return python, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	return "", fmt.Errorf("%w (tried %v)", errNoAnsible, candidates)
}
