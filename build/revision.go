package build

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	// Unknown tells why there is no commit though the project is in a repository.
	Unknown string
}

// readRevision asks git. A project that is in no repository has no revision, nor has one whose repository cannot be read.
func readRevision(ctx context.Context, dir string, ours []string) (revision, error) {
	date, err := image.SourceDate()
	if err != nil {
		return revision{}, err
	}
	last, err := git(ctx, dir, "log", "-1", "--no-show-signature", "--format=%H %ct", "HEAD")
	if err != nil {
		return revision{Time: date, Unknown: whyUnknown(ctx, dir)}, context.Cause(ctx)
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
	return revision{Commit: commit, Time: date}, nil
}

// whyUnknown is why git tells nothing of a repository that is there: it is missing, or does not trust a folder that belongs to
// another user. A repository without a commit has nothing to tell.
func whyUnknown(ctx context.Context, dir string) string {
	if !inRepository(dir) {
		return ""
	}
	if _, err := exec.LookPath("git"); err != nil {
		return "there is no git command on the PATH"
	}
	_, err := git(ctx, dir, "rev-parse", "--git-dir")
	if err == nil {
		return ""
	}
	said := strings.Fields(err.Error())
	return "git says: " + strings.Join(said, " ")
}

// inRepository tells whether a folder, or one above it, has a repository of git's.
func inRepository(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

// changes tells whether anything in the repository is not as it was committed, but for files that we write.
func changes(ctx context.Context, dir string, ours []string) (bool, error) {
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return false, err
	}
	arguments := []string{"status", "--porcelain", "--untracked-files=normal", "--", ":/"}
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
