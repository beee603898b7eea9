package ansible

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/engine"
)

// Whatever decides what a run does is part of its input, so that a change of it repeats the runs.
func TestInputDigest(t *testing.T) {
	elsewhere := t.TempDir()
	write := func(t *testing.T, path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const kind = "- group: market.example.com\n  version: v1\n  kind: Stall\n  vars: {a: b}\n"
	// digest returns the digest of a project.
	digest := func(t *testing.T, e *Engine, watches string, change func(dir string)) string {
		t.Helper()
		dir := t.TempDir()
		for _, file := range []string{"roles/stall/tasks/main.yml", "roles/other/tasks/main.yml", "play.yml", "tasks-of-play.yml", "shared/x.j2"} {
			write(t, filepath.Join(dir, file), "[]")
		}
		if err := os.Symlink("../../shared", filepath.Join(dir, "roles/stall/templates")); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "watches.yaml"), watches)
		change(dir)
		read, err := engine.Read(filepath.Join(dir, "watches.yaml"), e)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := e.read(read[0])
		if err != nil {
			t.Fatal(err)
		}
		in, err := entry.input(&engine.Object{}, false)
		if err != nil {
			t.Fatal(err)
		}
		return in.digest
	}
	nothing := func(string) {}
	changed := func(path string) func(string) {
		return func(dir string) { write(t, absolute(dir, path), "- debug: {}") }
	}
	role, play := kind+"  role: stall\n", kind+"  playbook: play.yml\n"
	roles, collections := filepath.Join(elsewhere, "roles"), filepath.Join(elsewhere, "collections")
	for name, test := range map[string]struct {
		before, after string
		engine        *Engine
		change        func(dir string)
		same          bool
	}{
		"nothing":                  {role, role, &Engine{}, nothing, true},
		"a comment in watches":     {role, role + "# x\n", &Engine{}, nothing, true},
		"another role":             {role, kind + "  role: other\n", &Engine{}, nothing, false},
		"snakeCaseParameters":      {role, role + "  snakeCaseParameters: false\n", &Engine{}, nothing, false},
		"markUnsafe":               {role, role + "  markUnsafe: true\n", &Engine{}, nothing, false},
		"a task":                   {role, role, &Engine{}, changed("roles/stall/tasks/main.yml"), false},
		"arguments":                {role, role, &Engine{Arguments: "--tags x"}, nothing, false},
		"beside a playbook":        {play, play, &Engine{}, changed("tasks-of-play.yml"), false},
		"in a linked directory":    {role, role, &Engine{}, changed("shared/x.j2"), false},
		"nothing elsewhere":        {role, role, &Engine{RolesPath: roles + ":roles", CollectionsPath: collections}, nothing, true},
		"a role elsewhere":         {role, role, &Engine{RolesPath: roles + ":roles"}, changed(filepath.Join(roles, "base/tasks/main.yml")), false},
		"a collection elsewhere":   {role, role, &Engine{CollectionsPath: collections}, changed(filepath.Join(collections, "ansible_collections/a/b/MANIFEST.json")), false},
		"documentation of project": {role, role, &Engine{}, changed("README.md"), true},
	} {
		t.Run(name, func(t *testing.T) {
			first := digest(t, &Engine{RolesPath: test.engine.RolesPath, CollectionsPath: test.engine.CollectionsPath}, test.before, nothing)
			if then := digest(t, test.engine, test.after, test.change); (first == then) != test.same {
				t.Errorf("the digests are %s and %s, want them to be equal: %t", first, then, test.same)
			}
		})
	}
	t.Run("the inventory", func(t *testing.T) {
		first := digest(t, &Engine{}, role, nothing)
		t.Setenv("ANSIBLE_INVENTORY", "hosts")
		if then := digest(t, &Engine{}, role, nothing); first == then {
			t.Error("the digest is the same with another inventory")
		}
	})
}
