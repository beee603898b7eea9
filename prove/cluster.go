package prove

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/local"
)

// StartCluster starts a cluster for one session, with one simulated node, and returns a connection as administrator and
// a function that stops the cluster.
func StartCluster(ctx context.Context, progress io.Writer) (config *rest.Config, stop func() error, err error) {
	name := "prove-" + strings.ToLower(rand.Text()[:6])
	cluster, err := local.Up(ctx, local.Options{Name: name, TTL: timing.clusterLife, Progress: progress})
	if err != nil {
		return nil, nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.closeTimeout)
		defer cancel()
		return local.Down(ctx, name)
	}
	config, err = cluster.RESTConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("%w (and its end: %v)", err, stop())
	}
	return config, stop, nil
}

// Folder creates a directory for the files of one session, which only the current user can access, and returns a
// function that removes it. It first removes the directories of sessions that were killed.
func Folder() (path string, remove func() error, err error) {
	parent, err := local.Folder("prove")
	if err != nil {
		return "", nil, err
	}
	if err := sweep(parent); err != nil {
		return "", nil, err
	}
	if path, err = os.MkdirTemp(parent, sessionPrefix); err != nil {
		return "", nil, err
	}
	lock, err := local.TryLock(path + lockSuffix)
	if err != nil {
		return "", nil, err
	}
	return path, func() error {
		return errors.Join(os.RemoveAll(path), os.Remove(path+lockSuffix), lock.Unlock())
	}, nil
}

// Parts of the names of session directories and their lock files.
const (
	sessionPrefix = "session-"
	lockSuffix    = ".lock"
)

// sweep removes the directories of sessions whose process has ended: their lock is free.
func sweep(parent string) error {
	left, err := glob.In(parent, sessionPrefix+"*"+lockSuffix)
	if err != nil {
		return err
	}
	for _, path := range left {
		lock, err := local.TryLock(path)
		if errors.Is(err, local.ErrLocked) {
			continue
		}
		if err != nil {
			return err
		}
		folder := strings.TrimSuffix(path, lockSuffix)
		if err := errors.Join(os.RemoveAll(folder), os.Remove(path), lock.Unlock()); err != nil {
			return err
		}
	}
	return nil
}
