// Package git reads git repositories without trusting their configuration: an extracted archive may contain a repository that names programs.
package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
)

// Command returns a command that reads the repository of a directory. It neither takes the lock that a commit needs, nor runs a hook or a monitor
// of files that the repository's configuration names. It does not fetch what a partial clone lacks, for which the configuration can name programs,
// too: the command fails then.
func Command(ctx context.Context, dir string, arguments ...string) *exec.Cmd {
	safe := []string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", dir}
	command := exec.CommandContext(ctx, "git", append(safe, arguments...)...)
	// Versions before 2.45 know only the first variable: they try to fetch, but without any protocol.
	command.Env = append(os.Environ(), "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
	return command
}

// Output runs a Command and returns its standard output. The error is git's message if it has one.
func Output(ctx context.Context, dir string, arguments ...string) (string, error) {
	output, err := Command(ctx, dir, arguments...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return string(output), err
}
