package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that may not be read is told in words of ours, with what to do. Root may read all, so that the
// error is made here.
func TestAnUnreadablePathIsTold(t *testing.T) {
	t.Parallel()
	err := unread("crd.yaml", &fs.PathError{Op: "open", Path: "crd.yaml", Err: fs.ErrPermission})
	if want := "you are not allowed to read crd.yaml: let its owner make it readable, or name another one"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

// What controller-gen writes below config/crd is found from there.
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
