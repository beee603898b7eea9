package build

import (
	"bytes"
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
	"github.com/operon-framework/operon/internal/tools/git"
)

// dirty is the suffix of the revision if an image contains sources that differ from the commit.
const dirty = "-dirty"

// revision describes the revision of a project in version control.
type revision struct {
	// Commit is the commit of the sources, with the suffix dirty if they were changed since or are not all in the repository. It
	// is "" without git.
	Commit string
	// Root is the repository's directory, without links in its path, and Folder the project's directory relative to it, with
	// slashes.
	Root, Folder string
	// Time is SOURCE_DATE_EPOCH if it is set, or else the time of the commit, or else 1970. It is never the time of the build.
	Time time.Time
	// Unknown describes why there is no commit although the project is in a repository.
	Unknown string
}

// readRevision queries git. A project that is not in a repository, or whose repository cannot be read, has no revision.
func readRevision(ctx context.Context, dir string, ours []string) (revision, error) {
	date, err := image.SourceDate(image.Epoch)
	if err != nil {
		return revision{}, err
	}
	last, err := git.Output(ctx, dir, "log", "-1", "--no-show-signature", "--format=%H %ct", "HEAD")
	if err != nil {
		return revision{Time: date, Unknown: whyUnknown(ctx, dir)}, context.Cause(ctx)
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(last), " ")
	committed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return revision{}, fmt.Errorf("read the time of commit %s: %w", commit, err)
	}
	found := revision{Commit: commit}
	if found.Time, err = image.SourceDate(time.Unix(committed, 0).UTC()); err != nil {
		return revision{}, err
	}
	if found.Root, found.Folder, err = place(ctx, dir); err != nil {
		return revision{}, fmt.Errorf("find the git repository of %s: %w", dir, err)
	}
	changed, err := changes(ctx, dir, found.Root, ours)
	if err != nil {
		return revision{}, fmt.Errorf("list changes in %s with git: %w", dir, err)
	}
	if changed {
		found.Commit += dirty
	}
	return found, nil
}

// place returns the directory of the repository, and the path of a directory in it.
func place(ctx context.Context, dir string) (root, folder string, err error) {
	if root, err = git.Output(ctx, dir, "rev-parse", "--show-toplevel"); err != nil {
		return "", "", err
	}
	folder, err = git.Output(ctx, dir, "rev-parse", "--show-prefix")
	return strings.TrimSuffix(root, "\n"), strings.TrimSuffix(strings.TrimSuffix(folder, "\n"), "/"), err
}

// judge marks the revision as dirty if an input file of the program is not in the repository, for example in a module for
// which go.mod or go.work names a directory outside, or because .gitignore excludes it. Even if this directory is in another repository, the
// commit does not determine it.
func (r *revision) judge(ctx context.Context, inputs map[string]string) error {
	if r.Commit == "" || strings.HasSuffix(r.Commit, dirty) {
		return nil
	}
	var all []string
	for file, looks := range inputs {
		if looks == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return fmt.Errorf("find a source file: %w", err)
		}
		inside, err := filepath.Rel(r.Root, real)
		if err != nil || !filepath.IsLocal(inside) {
			r.taint()
			return nil
		}
		all = append(all, filepath.ToSlash(inside))
	}
	ignored, err := anyIgnored(ctx, r.Root, all)
	if ignored {
		r.taint()
	}
	return err
}

// taint marks the revision as dirty.
func (r *revision) taint() {
	if r.Commit != "" && !strings.HasSuffix(r.Commit, dirty) {
		r.Commit += dirty
	}
}

// anyIgnored reports whether git ignores a file and does not track it, so that git status does not show it either.
func anyIgnored(ctx context.Context, root string, files []string) (bool, error) {
	if len(files) == 0 {
		return false, nil
	}
	files, nested := byRepository(root, files)
	for folder := range nested {
		files = append(files, folder)
	}
	command := git.Command(ctx, root, "check-ignore", "-z", "--stdin", "--quiet")
	command.Stdin = strings.NewReader(strings.Join(files, "\x00") + "\x00")
	var problem bytes.Buffer
	command.Stderr = &problem
	err := command.Run()
	var exit *exec.ExitError
	if err == nil {
		return true, nil
	}
	if !errors.As(err, &exit) || exit.ExitCode() != 1 { // 1: none is ignored
		return false, fmt.Errorf("find source files that git ignores: %w: %s", err, strings.TrimSpace(problem.String()))
	}
	for folder, inside := range nested {
		if ignored, err := anyIgnored(ctx, filepath.Join(root, folder), inside); ignored || err != nil {
			return ignored, err
		}
	}
	return false, nil
}

// byRepository separates files in a repository from those in repositories within it, by their directories. These are submodules, which git does not
// look into, or the commit of the outer repository does not contain them: then git status or their directory shows that.
func byRepository(root string, files []string) (own []string, nested map[string][]string) {
	nested = map[string][]string{}
	isRoot := map[string]bool{}
	for _, file := range files {
		folder := ""
		for i, c := range file {
			if c != '/' {
				continue
			}
			above, seen := file[:i], false
			if _, seen = isRoot[above]; !seen {
				_, err := os.Lstat(filepath.Join(root, above, ".git"))
				isRoot[above] = err == nil
			}
			if isRoot[above] {
				folder = above
				break
			}
		}
		if folder == "" {
			own = append(own, file)
			continue
		}
		nested[folder] = append(nested[folder], file[len(folder)+1:])
	}
	return own, nested
}

// whyUnknown describes why git returns nothing about an existing repository: git is not installed, or does not trust a
// directory that belongs to another user. For a repository without a commit it returns "".
func whyUnknown(ctx context.Context, dir string) string {
	if !inRepository(dir) {
		return ""
	}
	if _, err := exec.LookPath("git"); err != nil {
		return "there is no git command on the PATH"
	}
	_, err := git.Output(ctx, dir, "rev-parse", "--git-dir")
	if err == nil {
		return ""
	}
	said := strings.Fields(err.Error())
	return "git says: " + strings.Join(said, " ")
}

// inRepository reports whether a directory, or one above it, contains a git repository.
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

// changes reports whether anything in the repository differs from the commit, except files that the build writes.
func changes(ctx context.Context, dir, root string, ours []string) (bool, error) {
	arguments := []string{"status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=none", "--", ":/"}
	for _, file := range ours {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return false, err
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil { // in a directory that does not exist, there is nothing to leave out
			absolute = filepath.Join(dir, filepath.Base(absolute))
		}
		inside, err := filepath.Rel(root, absolute)
		if err == nil && filepath.IsLocal(inside) && inside != "." {
			arguments = append(arguments, ":(top,exclude,literal)"+filepath.ToSlash(inside))
		}
	}
	found, err := git.Output(ctx, dir, arguments...)
	return found != "", err
}
