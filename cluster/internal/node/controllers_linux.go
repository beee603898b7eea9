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

// Controllers of version 2 without which limits would not hold, those that the kubelet and its statistics use
// where they are there (pkg/kubelet/cm, getSupportedUnifiedControllers), and those of them that it continues without: it
// looks for what the node's own group has.
var (
	neededControllers = []string{"cpu", "memory"}
	usedControllers   = []string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}
	sparedControllers = []string{"cpuset", "hugetlb", "io"}
)

// lentNote is the extended attribute of the group of all nodes that names what was switched on at the root for it: it
// lives as long as that group, also when the process that wrote it was killed.
const lentNote = "user.operon.lent"

// lend lets groups below the parent one have controllers, and tells those that the kernel refuses and a node can do
// without. Version 1 needs nothing of that.
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

// lendNoted switches controllers on at the root. They are noted before, in case this process is killed, and those that
// stay off are taken out of the note afterwards: others may switch them on.
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

// switchOn passes controllers on from a group to those below it.
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

// takeBack switches off what lend switched on. Where others pass it on by now, it stays on.
func takeBack(root string, lent []string) error {
	for _, controller := range lent {
		err := writeControl(root, "-"+controller)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return nil
}

// off lists the controllers that a node uses and that groups below a directory do not have. It is nil for version 1.
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

// control asks the kernel to switch one controller, as in +memory or -memory, for the groups below one.
type control func(group, change string) error

func writeControl(group, change string) error {
	if err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte(change), 0); err != nil {
		return fmt.Errorf("switch %s: %w", change, err)
	}
	return nil
}

// groupsLack tells what keeps a node from the machine's control groups, or is empty.
func groupsLack() (string, error) {
	roots, err := hierarchies()
	if err != nil {
		return err.Error(), nil // it names what is missing
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
	// Only the machine's own root may hold processes and groups with controllers, and has no type.
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

// words reads a file of a control group that lists words.
func words(folder, file string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	return strings.Fields(string(text)), err
}

// noted reads what was lent to a group. Neither version 1 nor a group that is not there has a note.
func noted(group string) ([]string, error) {
	var text [256]byte // all controllers that the kernel knows take half of it
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
