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
	// initGroup is the control group of the node's own processes where there is one
	// hierarchy: a group that has groups below it may have none there.
	initGroup = "init"
)

// enterCgroups mounts the hierarchies of control groups again, so that they begin at the
// groups of this node and nothing else of the machine is seen.
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
		// Version 2 beside version 1 controls nothing, and runc would make groups there, on the machine's side.
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

// hierarchies lists the mounts below cgroupRoot: path → the options that tell the hierarchy, or unified.
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

// controllers leaves out of the options of a mount those that do not tell the hierarchy.
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

// enterUnified does the same for version 2, where the node's processes make room for the
// groups of pods.
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
	for _, process := range []string{"1", "0"} { // number 1, and this one
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
