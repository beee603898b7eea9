package build

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/operon-framework/operon/image"
)

// revision is what version control says of a project.
type revision struct {
	// Commit is that of the sources, with "-dirty" where they were changed since, "" without git.
	Commit string
	// Time is when it was made, or what SOURCE_DATE_EPOCH says, or else 1970: never when the image is made.
	Time time.Time
}

// readRevision asks git. A project that is in no repository, or on a machine without git, has no revision.
func readRevision(ctx context.Context, dir string, ours []string) (revision, error) {
	date, err := image.SourceDate()
	if err != nil {
		return revision{}, err
	}
	last, err := git(ctx, dir, "log", "-1", "--format=%H %ct", "HEAD")
	if err != nil {
		return revision{Time: date}, context.Cause(ctx)
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(last), " ")
	committed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return revision{}, fmt.Errorf("git tells no time of commit %s: %w", commit, err)
	}
	changed, err := changes(ctx, dir, ours)
	if err != nil {
		return revision{}, fmt.Errorf("ask git what changed in %s: %w", dir, err)
	}
	if changed {
		commit += "-dirty"
	}
	if date.Equal(image.Epoch) {
		date = time.Unix(committed, 0).UTC()
	}
	return revision{commit, date}, nil
}

// changes tells whether anything in the repository is not as it was committed, but for files that we write.
func changes(ctx context.Context, dir string, ours []string) (bool, error) {
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return false, err
	}
	arguments := []string{"status", "--porcelain", "--", ":/"}
	for _, file := range ours {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return false, err
		}
		inside, err := filepath.Rel(strings.TrimSpace(top), absolute)
		if err == nil && filepath.IsLocal(inside) && inside != "." {
			arguments = append(arguments, ":(top,exclude,literal)"+filepath.ToSlash(inside))
		}
	}
	found, err := git(ctx, dir, arguments...)
	return found != "", err
}

func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	// Looking must not take the lock that somebody's commit needs.
	command := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", dir}, arguments...)...)
	output, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return string(output), err
}
