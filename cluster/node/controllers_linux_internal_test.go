package node

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unifiedRoot is where a hierarchy of version 2 is mounted on this machine.
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

// What was off at the machine's root before the first node is off again after the last one, also when nobody but the
// group remembers.
func TestControllersAreLent(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
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
	for range 2 { // a second node adds nothing
		if err := lend(root, parent); err != nil {
			t.Fatal(err)
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

// Where a node cannot have its control groups, it is said what to do.
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
