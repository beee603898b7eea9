package supervisor

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// initGroup is the control group of the node's own processes if there is one hierarchy: there, a group with subgroups may not
	// contain processes.
	initGroup = "init"
)

// enterCgroups mounts the control group hierarchies again, so their roots are the groups of this node, and other groups of the
// machine are not visible.
func enterCgroups() error {
	var root unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &root); err != nil {
		return err
	}
	if root.Type == unix.CGROUP2_SUPER_MAGIC {
		return enterUnified()
	}
	mounted, err := hierarchies()
	if err != nil {
		return err
	}
	for path, options := range mounted {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
		// Version 2 in addition to version 1 controls nothing, and runc would create groups there, outside of the node's groups.
		if options == unified {
			continue
		}
		if err := unix.Mount("cgroup", path, "cgroup", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	return nil
}

// unified stands for the options of a hierarchy of version 2.
const unified = "version 2"

// hierarchies lists the mounts below cgroupRoot: path → the options that identify the hierarchy, or unified.
func hierarchies() (map[string]string, error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer mounts.Close()
	found := map[string]string{}
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		const path, options = 4, 2
		if len(mount) <= path || len(kind) <= options || !strings.HasPrefix(mount[path], cgroupRoot+"/") {
			continue
		}
		switch kind[0] {
		case "cgroup":
			found[mount[path]] = controllers(kind[options])
		case "cgroup2":
			found[mount[path]] = unified
		}
	}
	return found, lines.Err()
}

// controllers removes the mount options that do not identify the hierarchy.
func controllers(options string) string {
	var kept []string
	for _, option := range strings.Split(options, ",") {
		if option == "rw" || option == "ro" || option == "clone_children" || option == "xattr" ||
			strings.HasPrefix(option, "release_agent=") {
			continue
		}
		kept = append(kept, option)
	}
	return strings.Join(kept, ",")
}

// enterUnified is enterCgroups for version 2. It also moves the node's processes to their own group, so the groups of pods can
// be created.
func enterUnified() error {
	if err := unix.Unmount(cgroupRoot, unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", cgroupRoot, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	own := filepath.Join(cgroupRoot, initGroup)
	if err := os.Mkdir(own, 0o755); err != nil {
		return err
	}
	for _, process := range []string{"1", "0"} { // the init process, and this one
		if err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(process), 0); err != nil {
			return err
		}
	}
	available, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(available)) {
		if err := os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("control %s: %w", controller, err)
		}
	}
	return nil
}
