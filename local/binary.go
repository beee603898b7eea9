package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// kept is the number of builds in the cache: this one and the previous one, so that switching between two branches
// causes no build.
const kept = 2

// variables are the environment variables that name programs.
var variables = map[string]string{binaryName: "OPERON_CLUSTER_BINARY", nodeName: "OPERON_NODE_BINARY"}

// Binary returns the path of the operon-cluster binary, and builds it if it does not exist. It writes its progress
// to progress, also while it waits for another process that builds the binary.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	return program(ctx, binaryName, progress)
}

// Node returns the path of the operon-node binary, which clusters with container nodes need, and builds it if it does not exist, as Binary does.
// It returns an error if $OPERON_CLUSTER_BINARY is set, because the two binaries have to be of the same version.
func Node(ctx context.Context, progress io.Writer) (string, error) {
	if named := os.Getenv(variables[binaryName]); named != "" && os.Getenv(variables[nodeName]) == "" {
		return "", fmt.Errorf("find %s: it is not next to %s, which %s names: put it there, or set %s", nodeName, named, variables[binaryName], variables[nodeName])
	}
	return program(ctx, nodeName, progress)
}

// NeedsNode is the exit code of operon-cluster if it does not find operon-node, see Node. If $OPERON_NODE_ON_DEMAND is set, it prints nothing then.
const NeedsNode = 3

func program(ctx context.Context, name string, progress io.Writer) (string, error) {
	if named := os.Getenv(variables[name]); named != "" {
		if !isExecutable(named) {
			return "", fmt.Errorf("%s is %s, which is not an executable file", variables[name], named)
		}
		return named, nil
	}
	if beside := Beside(name); beside != "" {
		return beside, nil
	}
	from, err := findSource(name)
	if err != nil {
		return "", err
	}
	print, err := from.fingerprint()
	if err != nil {
		return "", err
	}
	cache, err := Folder("cache", name)
	if err != nil {
		return "", err
	}
	return cached(ctx, cache, print, from, progress)
}

// cached returns the binary with a fingerprint from the cache. It builds the binary if necessary.
func cached(ctx context.Context, cache, print string, from source, progress io.Writer) (string, error) {
	binary := filepath.Join(cache, print, from.program)
	if isExecutable(binary) {
		return binary, nil
	}
	lock, err := WaitLock(ctx, filepath.Join(cache, "lock"), func() {
		fmt.Fprintf(progress, "waiting for another process that is building %s\n", from.program)
	})
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if isExecutable(binary) {
		return binary, nil
	}
	if err := tidy(cache, from.program, kept-1); err != nil {
		return "", err
	}
	if err := build(ctx, from, binary, progress); err != nil {
		return "", err
	}
	return binary, nil
}

// Compiled reports whether the operon-cluster binary exists without a build: it is named by $OPERON_CLUSTER_BINARY, or comes with this program.
func Compiled() bool {
	return isExecutable(os.Getenv("OPERON_CLUSTER_BINARY")) || Beside(binaryName) != ""
}

// Beside returns the path of a program in the directory of this program, or "" if there is none, or if another user could have put it there.
func Beside(name string) string {
	executable, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(executable); err == nil { // the programs of a release are linked into a directory on $PATH
		executable = real
	}
	beside := filepath.Join(filepath.Dir(executable), name)
	if !isExecutable(beside) || Trusted(beside) != nil {
		return ""
	}
	return beside
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// tidy removes interrupted builds, and all finished builds except the newest ones. The caller holds the cache's lock.
func tidy(cache, program string, keep int) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	type finished struct {
		path string
		at   time.Time
	}
	var builds []finished
	for _, entry := range entries {
		path := filepath.Join(cache, entry.Name())
		info, err := os.Stat(filepath.Join(path, program))
		if err == nil && !strings.HasPrefix(entry.Name(), unfinished) {
			builds = append(builds, finished{path, info.ModTime()})
			continue
		}
		if entry.IsDir() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(builds, func(a, b finished) int { return b.at.Compare(a.at) })
	for _, old := range builds[min(keep, len(builds)):] {
		if err := os.RemoveAll(old.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
