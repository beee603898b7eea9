package nodeinit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ours are directories of the machine in which programs of a node keep things at paths that
// cannot be changed: the node sees what is in them, and gets those named here again.
var ours = map[string][]string{
	"/run":     {"containerd", "netns", "runc", "nri", "xtables.lock"},
	"/var/lib": {"cni", "kubelet", "containerd", "nri", "runc"},
	"/var/log": {"containers", "pods"},
}

// Binaries is the directory in a node's one that holds this program, by all its names.
func Binaries(dir string) string { return filepath.Join(dir, "bin") }

// view makes the mounts of this process's namespace the node's own. What is mounted on the
// machine later is still seen here, nothing of here is seen there.
func view(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("leave the machine's mounts alone: %w", err)
	}
	// Containers may ask for mounts that are seen in other containers.
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

// renew replaces a directory, for this namespace, by one that holds the same except for what is
// to be made again.
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
	// It may lie in the directory that it copies, and is not to be in itself.
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
	// What is below a shared mount can be moved nowhere.
	if err := unix.Mount("", copied, "", unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(copied, real, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	// Its path may lead into the copy by now.
	return unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", made.Fd()), unix.MNT_DETACH)
}

// show makes a file or directory appear in a second place.
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
		return nil // gone since the folder was listed
	}
	return err
}
