package build

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// A disk that is full is no fault of the code's.
func TestFullDisksAreNoCompileErrors(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"mkdir /tmp/go-build1: no space left on device": "a disk is full",
		"main.go:3:1: undefined: x":                     "the operator does not compile for linux/amd64",
	} {
		target, err := parsePlatform("linux/amd64")
		if err != nil {
			t.Fatal(err)
		}
		if err := refused(target, fmt.Errorf("go build: %w", &exec.ExitError{Stderr: []byte(said)})); !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), said) {
			t.Errorf("%v", err)
		}
	}
}
