package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An unreadable file is reported with a remedy. Root can read all files, so the test creates the error itself.
func TestAnUnreadablePathIsTold(t *testing.T) {
	t.Parallel()
	err := unread("crd.yaml", &fs.PathError{Op: "open", Path: "crd.yaml", Err: fs.ErrPermission})
	if want := "you are not allowed to read crd.yaml: let its owner make it readable, or name another one"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

// The files that controller-gen writes below config/crd are found.
func TestDefinitionsBelowAFolderAreFound(t *testing.T) {
	t.Parallel()
	bases := filepath.Join(t.TempDir(), "bases")
	content, err := os.ReadFile("../../examples/site/config/crd/web.example.com_sites.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bases, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bases, "a.yaml"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := definitionsIn([]string{filepath.Dir(bases)})
	if err != nil || len(all) != 1 || !strings.HasPrefix(all[0].GetName(), "sites.") {
		t.Errorf("%v, %v", all, err)
	}
}
