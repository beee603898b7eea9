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

	"github.com/operon-framework/operon/internal/ship/image"
)

// dirty ends the revision of what was not made of the commit's sources alone.
const dirty = "-dirty"

// revision is what version control says of a project.
type revision struct {
	// Commit is that of the sources, with dirty where they were changed since or are not all in the repository, "" without git.
	Commit string
	// Root is the repository's directory, without links in its path, and Folder the project's below it, with slashes.
	Root, Folder string
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
	found := revision{Commit: commit, Time: date}
	if date.Equal(image.Epoch) {
		found.Time = time.Unix(committed, 0).UTC()
	}
	if found.Root, found.Folder, err = place(ctx, dir); err != nil {
		return revision{}, fmt.Errorf("ask git for the repository of %s: %w", dir, err)
	}
	changed, err := changes(ctx, dir, found.Root, ours)
	if err != nil {
		return revision{}, fmt.Errorf("ask git what changed in %s: %w", dir, err)
	}
	if changed {
		found.Commit += dirty
	}
	return found, nil
}

// place is where the repository is, and where a folder is in it.
func place(ctx context.Context, dir string) (root, folder string, err error) {
	if root, err = git(ctx, dir, "rev-parse", "--show-toplevel"); err != nil {
		return "", "", err
	}
	folder, err = git(ctx, dir, "rev-parse", "--show-prefix")
	return strings.TrimSuffix(root, "\n"), strings.TrimSuffix(strings.TrimSuffix(folder, "\n"), "/"), err
}

// judge makes the revision dirty where a file that went into the program is not in the repository, such as one of a module that
// go.mod or go.work has in a directory beside it: whatever repository that is in, the commit does not tell of it.
func (r *revision) judge(inputs map[string]string) error {
	if r.Commit == "" || strings.HasSuffix(r.Commit, dirty) {
		return nil
	}
	for file, looks := range inputs {
		if looks == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return fmt.Errorf("look where a source is: %w", err)
		}
		if inside, err := filepath.Rel(r.Root, real); err != nil || !filepath.IsLocal(inside) {
			r.Commit += dirty
			return nil
		}
	}
	return nil
}

// whyUnknown is why git tells nothing of a repository that is there: it is missing, or does not trust a directory that belongs to
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

// inRepository reports whether a directory, or one above it, has a repository of git's.
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

// changes reports whether anything in the repository is not as it was committed, except for files that we write.
func changes(ctx context.Context, dir, root string, ours []string) (bool, error) {
	arguments := []string{"status", "--porcelain", "--untracked-files=normal", "--", ":/"}
	for _, file := range ours {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return false, err
		}
		inside, err := filepath.Rel(root, absolute)
		if err == nil && filepath.IsLocal(inside) && inside != "." {
			arguments = append(arguments, ":(top,exclude,literal)"+filepath.ToSlash(inside))
		}
	}
	found, err := git(ctx, dir, arguments...)
	return found != "", err
}

func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	// Reading must not take the lock that a commit needs, nor run programs that the repository's configuration names.
	command := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", dir}, arguments...)...)
	output, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return string(output), err
}
