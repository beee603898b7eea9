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

// Binary returns the path of the operon-cluster binary, and builds it if it does not exist. It writes its progress
// to progress, also while it waits for another process that builds the binary.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	if named := os.Getenv("OPERON_CLUSTER_BINARY"); named != "" {
		if !isExecutable(named) {
			return "", fmt.Errorf("OPERON_CLUSTER_BINARY is %s, which is not an executable file", named)
		}
		return named, nil
	}
	if beside := besideExecutable(); beside != "" {
		return beside, nil
	}
	from, err := findSource()
	if err != nil {
		return "", err
	}
	print, err := from.fingerprint()
	if err != nil {
		return "", err
	}
	cache, err := Folder("cache", binaryName)
	if err != nil {
		return "", err
	}
	return cached(ctx, cache, print, from, progress)
}

// cached returns the binary with a fingerprint from the cache. It builds the binary if necessary.
func cached(ctx context.Context, cache, print string, from source, progress io.Writer) (string, error) {
	binary := filepath.Join(cache, print, binaryName)
	if isExecutable(binary) {
		return binary, nil
	}
	lock, err := WaitLock(ctx, filepath.Join(cache, "lock"), func() {
		fmt.Fprintf(progress, "waiting for another process that is building %s\n", binaryName)
	})
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if isExecutable(binary) {
		return binary, nil
	}
	if err := tidy(cache, kept-1); err != nil {
		return "", err
	}
	if err := build(ctx, from, binary, progress); err != nil {
		return "", err
	}
	return binary, nil
}

func besideExecutable() string {
	executable, err := os.Executable()
	if err != nil {
		return ""
	}
	beside := filepath.Join(filepath.Dir(executable), binaryName)
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
func tidy(cache string, keep int) error {
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
		info, err := os.Stat(filepath.Join(path, binaryName))
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
