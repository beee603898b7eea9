package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// parentGroup contains the control groups of all nodes.
	parentGroup = "operon"
)

// hierarchies returns the directories of the control group hierarchies: one for version 2, one for each set of controllers for
// version 1.
func hierarchies() ([]string, error) {
	var root unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &root); err != nil {
		return nil, fmt.Errorf("control groups in %s", cgroupRoot)
	}
	if root.Type == unix.CGROUP2_SUPER_MAGIC {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		path := filepath.Join(cgroupRoot, entry.Name())
		var mounted unix.Statfs_t
		if entry.IsDir() && unix.Statfs(path, &mounted) == nil && mounted.Type == unix.CGROUP_SUPER_MAGIC {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("control groups in %s", cgroupRoot)
	}
	return found, nil
}

// group returns the path of a node's control group in each hierarchy. Two clusters with the same name have different paths
// because their directories differ.
func group(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(parentGroup, fmt.Sprintf("%s-%x", filepath.Base(filepath.Dir(dir)), sum[:4]))
}

// makeGroups creates the control groups of a node and returns their directories.
func makeGroups(dir string) ([]string, error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var made []string
	for _, root := range roots {
		group, err := makeGroup(root, dir)
		if err != nil {
			return nil, fmt.Errorf("make a control group: %w", err)
		}
		made = append(made, group)
	}
	return made, nil
}

func makeGroup(root, dir string) (string, error) {
	unlock, err := lock(root)
	if err != nil {
		return "", err
	}
	defer unlock()
	parent, child := filepath.Join(root, parentGroup), filepath.Join(root, group(dir))
	if err := makeFolder(parent); err != nil {
		return "", err
	}
	refused, err := lend(root, parent, writeControl)
	if err != nil {
		return "", err
	}
	if len(refused) > 0 {
		klog.ErrorS(errors.Join(refused...), "The kernel refuses controllers; this node continues without them", "root", root)
	}
	if err := inheritCPUs(root, parent); err != nil {
		return "", err
	}
	if err := makeFolder(child); err != nil {
		return "", err
	}
	if err := limitGroup(child); err != nil {
		return "", err
	}
	if err := weighNodes(parent); err != nil {
		return "", err
	}
	return child, inheritCPUs(parent, child)
}

func makeFolder(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// lock prevents nodes from starting while other nodes end, because the last of them removes the group that the first one
// created. The lock is released when its process ends.
func lock(root string) (unlock func() error, err error) {
	folder, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", root, err), folder.Close())
	}
	return folder.Close, nil
}

// inheritCPUs sets the processors of a version 1 group to those of its parent: a group without processors cannot contain
// processes.
func inheritCPUs(parent, child string) error {
	if _, err := os.Stat(filepath.Join(child, "cgroup.controllers")); err == nil {
		return nil // version 2 inherits
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a hierarchy with other controllers
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(child, name), value, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// removeGroups removes the control groups of a node. Its processes must have ended, or be about to end.
func removeGroups(ctx context.Context, dir string) error {
	roots, err := hierarchies()
	if err != nil {
		return nil // in this case no node ever ran here
	}
	for _, root := range roots {
		if err := removeTree(ctx, filepath.Join(root, group(dir))); err != nil {
			return err
		}
		if err := removeParent(root); err != nil {
			return err
		}
	}
	return nil
}

// removeParent removes the parent group of all nodes after the last node has ended.
func removeParent(root string) error {
	unlock, err := lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	parent := filepath.Join(root, parentGroup)
	lent, err := noted(parent)
	if err != nil {
		return err
	}
	err = unix.Rmdir(parent)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOTEMPTY) {
		return weighNodes(parent) // of the nodes that are left
	}
	if err != nil {
		return fmt.Errorf("remove the control group %s: %w", parent, err)
	}
	return takeBack(root, lent)
}

// removeTree removes a control group and the groups below it.
func removeTree(ctx context.Context, folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := removeTree(ctx, filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	for {
		err := unix.Rmdir(folder)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("remove the control group %s: %w", folder, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes in the control group %s do not end: %w", folder, ctx.Err())
		case <-time.After(timing.emptyPeriod):
		}
	}
}
