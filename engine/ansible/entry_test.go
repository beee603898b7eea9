package ansible_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
)

// Errors in watches.yaml name the file and the line. No Python is needed to find them.
func TestWatchesThatAreWrong(t *testing.T) {
	t.Parallel()
	const kind = "- group: market.example.com\n  version: v1\n  kind: Stall\n"
	for name, test := range map[string]struct{ watches, want string }{
		"no role":            {kind + "  role: other\n", "watches.yaml:4: the role other is not found: there is no directory "},
		"no playbook":        {kind + "  playbook: other.yml\n", "watches.yaml:4: the playbook "},
		"no collection":      {kind + "  role: a.b.c\n", filepath.Join("ansible_collections", "a", "b", "roles", "c")},
		"unknown field":      {kind + "  role: stall\n  chart: x\n", `watches.yaml:5: unknown field "chart"`},
		"finalizer, unnamed": {kind + "  role: stall\n  finalizer: {vars: {}}\n", "watches.yaml:5: the finalizer has no name"},
		"finalizer, empty":   {kind + "  role: stall\n  finalizer: {name: a/b}\n", "watches.yaml:5: the finalizer a/b needs a role, a playbook or vars"},
		"finalizer, no role": {kind + "  role: stall\n  finalizer: {name: a/b, role: other}\n", "watches.yaml:5: finalizer: the role other is not found"},
		"type":               {kind + "  role: stall\n  manageStatus: maybe\n", "watches.yaml:5: manageStatus: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata/stall")); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "watches.yaml")
			if err := os.WriteFile(file, []byte(test.watches), 0o600); err != nil {
				t.Fatal(err)
			}
			watches, err := engine.Read(file, &ansible.Engine{})
			if err == nil {
				_, err = engine.Options(watches)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// The files of an entry are those that an image needs.
func TestFiles(t *testing.T) {
	t.Parallel()
	watches, err := engine.Read("testdata/stall/watches.yaml", &ansible.Engine{})
	if err != nil {
		t.Fatal(err)
	}
	programs, err := engine.Programs(watches)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata/stall")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(programs[0].Files, " "), filepath.Join(dir, "roles")+" "+filepath.Join(dir, "roles/stall"); got != want {
		t.Errorf("the files are %s, want %s", got, want)
	}
}
