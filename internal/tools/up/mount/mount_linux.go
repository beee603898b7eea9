package mount

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// entering is the name with which this program is started to make mounts and become a child.
const entering = "operon-child"

// init makes this program the child if it was started for that purpose. This must happen in init: the main thread receives
// the signal of the parent's end, and it runs nothing else.
func init() {
	if len(os.Args) < 2 || os.Args[0] != entering {
		return
	}
	if err := enter(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "operon:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Before makes a command start through this program, which makes the mounts first. It returns an error if the program of the
// command does not exist.
func Before(command *exec.Cmd, mounts []Mount) error {
	if command.Err != nil {
		return command.Err
	}
	if filepath.IsAbs(command.Path) { // report a missing executable at the start, as without mounts
		if _, err := exec.LookPath(command.Path); err != nil {
			return err
		}
	}
	how, err := entrance{Mounts: mounts, Path: command.Path}.encoded()
	if err != nil {
		return err
	}
	command.Path, command.Args = "/proc/self/exe", append([]string{entering, how}, command.Args...)
	command.SysProcAttr = apart(command.SysProcAttr)
	return nil
}

// apart gives a process a mount namespace. Only root may create one directly. Other users need a user namespace, in which
// they keep their user ID and have the permission to mount until they drop it.
func apart(attributes *syscall.SysProcAttr) *syscall.SysProcAttr {
	attributes.Cloneflags |= unix.CLONE_NEWNS
	if os.Geteuid() == 0 {
		return attributes
	}
	attributes.Cloneflags |= unix.CLONE_NEWUSER
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	return attributes
}

// tried stores the results of Possible by target.
var tried sync.Map

// Possible returns an error that describes why a child cannot see a directory at this place, or nil if it can. It tries this
// once.
func Possible(target string) error {
	try, _ := tried.LoadOrStore(target, sync.OnceValue(func() error { return tryMount(target) }))
	return try.(func() error)()
}

func tryMount(target string) error {
	folder, err := os.MkdirTemp("", "operon-mount-")
	if err != nil {
		return err
	}
	defer os.Remove(folder) // it is empty
	how, err := entrance{Mounts: []Mount{{Source: folder, Target: target}}}.encoded()
	if err != nil {
		return err
	}
	command := exec.Command("/proc/self/exe")
	command.Args = []string{entering, how}
	command.SysProcAttr = apart(&syscall.SysProcAttr{})
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errors.New(strings.TrimPrefix(strings.TrimSpace(string(output)), "operon: "))
	}
	if err != nil {
		return fmt.Errorf("create a mount namespace: %w", errors.Unwrap(err))
	}
	return nil
}

// enter makes the mounts and becomes the child. It returns only if this fails, or if there is no child.
func enter(how string, arguments []string) error {
	var e entrance
	if err := json.Unmarshal([]byte(how), &e); err != nil {
		return err
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to this process: %w", err)
	}
	for _, m := range e.Mounts {
		if err := m.make(); err != nil {
			return fmt.Errorf("show %s at %s: %w", m.Source, m.Target, err)
		}
	}
	if err := giveUp(); err != nil {
		return fmt.Errorf("drop the permission to mount: %w", err)
	}
	if e.Path == "" {
		return nil
	}
	if err := bound(e.Parent); err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", e.Path, unix.Exec(e.Path, arguments, os.Environ()))
}

// giveUp drops the permissions that a user other than root got with the namespace.
func giveUp() error {
	if os.Geteuid() == 0 {
		return nil
	}
	none := [2]unix.CapUserData{}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// bound makes this process end with its parent. It fails if the parent has ended already.
func bound(parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the parent: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the parent has ended")
	}
	return nil
}

// make mounts the source at the target.
func (m Mount) make() error {
	source, err := hold(m.Source)
	if err != nil {
		return err
	}
	defer source.Close()
	there, missing, err := reach(m.Target)
	if err != nil {
		return err
	}
	if missing != "" {
		if err := refill(there); err != nil {
			return err
		}
	}
	target := filepath.Join(there, missing)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	return attach(through(source, ""), target, "", unix.MS_BIND|unix.MS_REC)
}

// reach splits a path into the part that exists, without symbolic links, and the rest.
func reach(path string) (there, missing string, err error) {
	for there == "" {
		there, err = filepath.EvalSymlinks(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", "", err
		}
		if there == "" {
			missing = filepath.Join(filepath.Base(path), missing)
			path = filepath.Dir(path)
		}
	}
	if there == "/" && missing != "" {
		return "", "", fmt.Errorf("there is no /%s", missing)
	}
	return there, missing, nil
}

// refill covers a directory with a directory in memory that has the same content and can be changed.
func refill(folder string) error {
	old, err := hold(folder)
	if err != nil {
		return err
	}
	defer old.Close()
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if err := attach("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return err
	}
	for _, entry := range entries {
		err := refer(through(old, entry.Name()), filepath.Join(folder, entry.Name()), entry)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been deleted in the meantime
			return err
		}
	}
	return os.Chmod(folder, 0o755)
}

// refer creates an entry that shows the old entry.
func refer(old, entry string, about fs.DirEntry) error {
	switch about.Type() {
	case fs.ModeSymlink:
		link, err := os.Readlink(old)
		return cmp.Or(err, os.Symlink(link, entry))
	case fs.ModeDir:
		if err := os.Mkdir(entry, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(entry, nil, 0o600); err != nil {
			return err
		}
	}
	return attach(old, entry, "", unix.MS_BIND|unix.MS_REC)
}

// hold opens a directory, so that it remains accessible after something is mounted over it.
func hold(folder string) (*os.File, error) {
	return os.OpenFile(folder, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// through returns the path of an entry of a directory that was opened with hold.
func through(folder *os.File, name string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), name)
}

func attach(source, target, kind string, flags uintptr) error {
	if err := unix.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mount at %s: %w", target, err)
	}
	return nil
}
