package nodeinit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ours are directories of the machine in which programs of a node store files at fixed paths. The node sees their other
// contents, and has its own version of the entries in the list.
var ours = map[string][]string{
	"/run":     {"containerd", "netns", "runc", "nri", "xtables.lock"},
	"/var/lib": {"cni", "kubelet", "containerd", "nri", "runc"},
	"/var/log": {"containers", "pods"},
}

// Binaries returns the directory in a node's directory that contains this program under all its names.
func Binaries(dir string) string { return filepath.Join(dir, "bin") }

// view makes the mounts of this process's namespace private to the node. Later mounts of the machine are visible in it, but its
// mounts are not visible on the machine.
func view(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("leave the machine's mounts alone: %w", err)
	}
	// Containers may request mounts that are visible in other containers.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("share the node's mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for folder, anew := range ours {
		if err := renew(folder, anew, dir); err != nil {
			return fmt.Errorf("the node's %s: %w", folder, err)
		}
	}
	return nil
}

// renew replaces a directory, in this namespace only, with one that has the same contents except the entries in anew.
func renew(folder string, anew []string, dir string) error {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	copied := filepath.Join(dir, "view")
	if err := os.MkdirAll(copied, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", copied, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	made, err := os.OpenFile(copied, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer made.Close()
	// The copy may be in the directory that it copies, and must not contain itself.
	if err := unix.Mount("", copied, "", unix.MS_UNBINDABLE, ""); err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(anew, entry.Name()) {
			continue
		}
		if err := show(filepath.Join(real, entry.Name()), filepath.Join(copied, entry.Name()), entry); err != nil {
			return err
		}
	}
	// Mounts below a shared mount cannot be moved.
	if err := unix.Mount("", copied, "", unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(copied, real, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	// The path of the copy may be inside the copy by now.
	return unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", made.Fd()), unix.MNT_DETACH)
}

// show makes a file or directory visible at a second path.
func show(from, to string, entry os.DirEntry) error {
	switch {
	case entry.Type()&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case entry.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			return err
		}
	}
	err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
	if os.IsNotExist(err) {
		return nil // deleted after the directory was listed
	}
	return err
}
