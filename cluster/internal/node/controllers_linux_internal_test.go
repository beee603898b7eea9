//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/testaid"
)

// unifiedRoot returns the directory where a hierarchy of version 2 is mounted on this machine.
func unifiedRoot(t *testing.T) string {
	t.Helper()
	for _, root := range []string{cgroupRoot, filepath.Join(cgroupRoot, "unified")} {
		var mounted unix.Statfs_t
		if unix.Statfs(root, &mounted) == nil && mounted.Type == unix.CGROUP2_SUPER_MAGIC {
			return root
		}
	}
	t.Skip("no hierarchy of version 2 is mounted here")
	return ""
}

// Controllers that were disabled at the root of the machine before the first node are disabled again after the last one, even
// if only the note of the group records them.
func TestControllersAreLent(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testaid.Lacks(t, "root")
	}
	root := unifiedRoot(t)
	before, err := off(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(before) == 0 {
		t.Skip("all that a node uses is on here, or controlled by version 1")
	}
	parent := filepath.Join(root, "lent-"+filepath.Base(t.TempDir()))
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	defer unix.Rmdir(parent)
	for range 2 { // a second node changes nothing
		if refused, err := lend(root, parent, writeControl); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	on, err := words(parent, "cgroup.subtree_control")
	if err != nil || !slices.Equal(on, before) {
		t.Errorf("the group passes on %q, %v, want %q", on, err, before)
	}
	lent, err := noted(parent)
	if err != nil || !slices.Equal(lent, before) {
		t.Errorf("noted is %q, %v, want %q", lent, err, before)
	}
	kernelRefuses(t, root)
	if err := removeTree(context.Background(), parent); err != nil {
		t.Fatal(err)
	}
	if err := takeBack(root, lent); err != nil {
		t.Fatal(err)
	}
	if after, err := off(root); err != nil || !slices.Equal(after, before) {
		t.Errorf("off are %q, %v, were %q", after, err, before)
	}
}

// A node works without a refused controller if it can, and records only enabled controllers as lent.
func TestRefusedControllers(t *testing.T) {
	t.Parallel()
	const all = "cpu cpuset hugetlb io memory pids rdma"
	for name, c := range map[string]struct {
		refuses, before  string
		refused, on, err string
	}{
		"none":                                {"", "", "", "cpu cpuset hugetlb io memory pids", ""},
		"what can be done without":            {"cpuset io", "", "cpuset io", "cpu hugetlb memory pids", ""},
		"a second node":                       {"io", "cpu cpuset hugetlb memory pids", "io", "", ""},
		"what is needed":                      {"io memory", "cpu", "", "cpuset hugetlb", "+memory"},
		"at once":                             {"cpu", "", "", "", "+cpu"},
		"what limits the number of processes": {"pids", "", "", "cpu cpuset hugetlb io memory", "+pids"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			parent := filepath.Join(root, "operon")
			if err := os.Mkdir(parent, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, root, "cgroup.controllers", all)
			write(t, root, "cgroup.subtree_control", c.before)
			write(t, parent, "cgroup.controllers", c.before)
			write(t, parent, "cgroup.subtree_control", "")
			if err := note(parent, nil); errors.Is(err, unix.ENOTSUP) {
				t.Skip("directories have no attributes here: ", err)
			}
			refused, err := lend(root, parent, kernel(t, parent, strings.Fields(c.refuses)))
			if got := changes(refused); got != c.refused {
				t.Errorf("refused are %q, want %q", got, c.refused)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if lent, err := noted(parent); err != nil || strings.Join(lent, " ") != c.on {
				t.Errorf("noted is %q, %v, want %q", lent, err, c.on)
			}
			on, err := words(parent, "cgroup.subtree_control")
			if want := strings.TrimSpace(c.before + " " + c.on); err != nil || c.err == "" && strings.Join(on, " ") != want {
				t.Errorf("the group passes on %q, %v, want %q", on, err, want)
			}
		})
	}
}

// kernel simulates control groups in a directory, and refuses some controllers.
func kernel(t *testing.T, child string, refuses []string) control {
	return func(group, change string) error {
		name := strings.TrimPrefix(change, "+")
		if slices.Contains(refuses, name) {
			return fmt.Errorf("switch %s: %w", change, unix.EINVAL)
		}
		on, err := words(group, "cgroup.subtree_control")
		if err != nil {
			return err
		}
		now := strings.Join(append(on, name), " ")
		write(t, group, "cgroup.subtree_control", now)
		if group != child {
			write(t, child, "cgroup.controllers", now)
		}
		return nil
	}
}

func write(t *testing.T, folder, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// changes returns the names of the refused controllers.
func changes(refusals []error) string {
	var all []string
	for _, refusal := range refusals {
		name, _, _ := strings.Cut(strings.TrimPrefix(refusal.Error(), "switch +"), ":")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// kernelRefuses tests refusals of the real kernel: in a group that has threads of one process below it, the kernel lists
// controllers, and refuses the ones for whole processes.
func kernelRefuses(t *testing.T, root string) {
	t.Helper()
	group := filepath.Join(root, "refused-"+filepath.Base(t.TempDir()))
	parent, threads := filepath.Join(group, "operon"), filepath.Join(group, "threads")
	for _, folder := range []string{group, parent, threads} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		defer unix.Rmdir(folder)
	}
	write(t, threads, "cgroup.type", "threaded")
	missing, err := off(group)
	if err != nil || len(missing) == 0 {
		t.Fatalf("off are %q, %v", missing, err)
	}
	refused, err := lend(group, parent, writeControl)
	if slices.Contains(missing, "memory") {
		if err == nil || !strings.Contains(err.Error(), "switch +memory") {
			t.Errorf("%v, want that there is no memory", err)
		}
	} else if err != nil || len(refused) == 0 {
		t.Errorf("refused are %v, %v, of %q", refused, err, missing)
	}
	on, err := words(group, "cgroup.subtree_control")
	if err != nil {
		t.Fatal(err)
	}
	if lent, err := noted(parent); err != nil || !slices.Equal(lent, on) {
		t.Errorf("noted is %q, %v, and on is %q", lent, err, on)
	}
}

// If a node cannot have its control groups, the error states what to do.
func TestGroupsThatLack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		controllers []string
		files       map[string]string
		want        string
	}{
		"the machine's root":                {[]string{"cpu", "memory"}, map[string]string{"cgroup.procs": "1"}, ""},
		"a container that is used to nodes": {[]string{"cpu", "memory"}, map[string]string{"cgroup.type": "domain", "cgroup.procs": ""}, ""},
		"limits that cannot be held":        {[]string{"pids"}, nil, `the controllers ["cpu" "memory"] in ROOT/cgroup.controllers`},
		"a container with processes of its own": {[]string{"cpu", "memory"}, map[string]string{"cgroup.type": "domain", "cgroup.procs": "1\n7"},
			"a control group that can have others below it, as in this container ROOT itself holds the processes; move them: mkdir -p ROOT/init && for p in $(cat ROOT/cgroup.procs); do echo $p > ROOT/init/cgroup.procs 2>/dev/null; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := unifiedLacks(root, c.controllers)
			if want := strings.ReplaceAll(c.want, "ROOT", root); err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
}
