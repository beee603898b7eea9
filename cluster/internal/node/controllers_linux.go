package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Controllers of version 2: those without which limits would have no effect, those that the kubelet and its statistics use if
// they are available (pkg/kubelet/cm, getSupportedUnifiedControllers), and those of them without which the kubelet can work: it
// checks which ones the node's own group has.
var (
	neededControllers = []string{"cpu", "memory"}
	usedControllers   = []string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}
	sparedControllers = []string{"cpuset", "hugetlb", "io"}
)

// lentNote is an extended attribute of the group of all nodes. It names the controllers that were enabled at the root for that
// group. It exists as long as the group, even if the process that wrote it was killed.
const lentNote = "user.operon.lent"

// lend enables controllers for the groups below parent, and returns the errors of controllers that the kernel refuses and a
// node can work without. Version 1 needs none of this.
func lend(root, parent string, control control) (refused []error, err error) {
	missing, err := off(root)
	if err != nil || missing == nil {
		return nil, err
	}
	atRoot, err := lendNoted(root, parent, missing, control)
	if err != nil {
		return nil, err
	}
	missing, err = off(parent)
	if err != nil {
		return nil, err
	}
	_, below, err := switchOn(parent, missing, control)
	return append(atRoot, below...), err
}

// lendNoted enables controllers at the root. It records them first, in case this process is killed. Afterwards it removes
// controllers that were not enabled from the note, because other programs may enable them.
func lendNoted(root, parent string, missing []string, control control) (refused []error, err error) {
	before, err := noted(parent)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if err := note(parent, slices.Concat(before, missing)); err != nil {
		return nil, err
	}
	on, refused, err := switchOn(root, missing, control)
	if len(on) < len(missing) {
		err = errors.Join(err, note(parent, slices.Concat(before, on)))
	}
	return refused, err
}

// switchOn enables controllers of a group for the groups below it.
func switchOn(group string, controllers []string, control control) (on []string, refused []error, err error) {
	for _, controller := range controllers {
		err := control(group, "+"+controller)
		switch {
		case err == nil:
			on = append(on, controller)
		case slices.Contains(sparedControllers, controller):
			refused = append(refused, err)
		default:
			return on, refused, err
		}
	}
	return on, refused, nil
}

// takeBack disables the controllers that lend enabled. A controller that other groups use in the meantime stays enabled.
func takeBack(root string, lent []string) error {
	for _, controller := range lent {
		err := writeControl(root, "-"+controller)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return nil
}

// off lists the controllers that a node uses and that the groups below a directory do not have. It returns nil for version 1.
func off(folder string) ([]string, error) {
	available, err := words(folder, "cgroup.controllers")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // version 1
	}
	if err != nil {
		return nil, err
	}
	on, err := words(folder, "cgroup.subtree_control")
	if err != nil {
		return nil, err
	}
	missing := []string{}
	for _, controller := range usedControllers {
		if slices.Contains(available, controller) && !slices.Contains(on, controller) {
			missing = append(missing, controller)
		}
	}
	return missing, nil
}

// control requests the kernel to enable or disable one controller, such as +memory or -memory, for the groups below a group.
type control func(group, change string) error

func writeControl(group, change string) error {
	if err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte(change), 0); err != nil {
		return fmt.Errorf("switch %s: %w", change, err)
	}
	return nil
}

// groupsLack returns the reason why a node cannot use the control groups of the machine, or the empty string.
func groupsLack() (string, error) {
	roots, err := hierarchies()
	if err != nil {
		return err.Error(), nil // the error names what is missing
	}
	available, err := words(roots[0], "cgroup.controllers")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // version 1
	}
	if err != nil {
		return "", err
	}
	return unifiedLacks(roots[0], available)
}

func unifiedLacks(root string, available []string) (string, error) {
	without := slices.DeleteFunc(slices.Clone(neededControllers), func(name string) bool { return slices.Contains(available, name) })
	if len(without) > 0 {
		return fmt.Sprintf("the controllers %q in %s", without, filepath.Join(root, "cgroup.controllers")), nil
	}
	// Only the real root of the machine may contain both processes and groups with controllers. It has no type.
	if _, err := os.Stat(filepath.Join(root, "cgroup.type")); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	processes, err := words(root, "cgroup.procs")
	if err != nil || len(processes) == 0 {
		return "", err
	}
	own := filepath.Join(root, "init")
	return fmt.Sprintf("a control group that can have others below it, as in this container %s itself holds the processes; "+
		"move them: mkdir -p %[2]s && for p in $(cat %[1]s/cgroup.procs); do echo $p > %[2]s/cgroup.procs 2>/dev/null; done", root, own), nil
}

// words returns the words in a file of a control group.
func words(folder, file string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	return strings.Fields(string(text)), err
}

// noted returns the controllers in the note of a group. Version 1, and groups that do not exist, have no note.
func noted(group string) ([]string, error) {
	var text [256]byte // all controllers of the kernel need half of it
	n, err := unix.Getxattr(group, lentNote, text[:])
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", lentNote, group, err)
	}
	return strings.Fields(string(text[:n])), nil
}

func note(group string, lent []string) error {
	if err := unix.Setxattr(group, lentNote, []byte(strings.Join(lent, " ")), 0); err != nil {
		return fmt.Errorf("note %s at %s: %w", lentNote, group, err)
	}
	return nil
}
