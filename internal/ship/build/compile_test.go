package build

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// A full disk is not reported as an error in the code.
func TestFullDisksAreNoCompileErrors(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"package web: build constraints exclude all Go files in /web": "the operator does not compile for linux/amd64:\npackage web: build constraints exclude all Go files in /web\nprograms in images are built without cgo",
		"mkdir /tmp/go-build1: no space left on device":               "a disk is full",
		"main.go:3:1: undefined: x":                                   "the operator does not compile for linux/amd64",
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

// A user's everyday settings do not change an image.
func TestSettingsOfArchitectures(t *testing.T) {
	for name, everyday := range map[string][2]string{
		"GOAMD64": {"linux/amd64", "v3"}, "GOARM64": {"linux/arm64", "v9.0"}, "GOARM": {"linux/arm", "5"}, "GO386": {"linux/386", "softfloat"},
		"GOPPC64": {"linux/ppc64le", "power10"}, "GORISCV64": {"linux/riscv64", "rva23u64"},
	} {
		t.Setenv(name, everyday[1])
		target, err := parsePlatform(everyday[0])
		if err != nil {
			t.Fatal(err)
		}
		set, err := toolchain{dir: "."}.output(t.Context(), target.env, "env", name)
		if err != nil || strings.TrimSpace(string(set)) == everyday[1] {
			t.Errorf("%s is %s, %v", name, set, err)
		}
	}
}
