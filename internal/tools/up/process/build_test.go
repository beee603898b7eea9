package process_test

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// module writes a module with one main package.
func module(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/one\n\ngo 1.26\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuildReplacesTheTargetOnlyWhenAllWentWell(t *testing.T) {
	t.Parallel()
	dir, target := module(t, "package main\n\nfunc main() {}\n"), filepath.Join(t.TempDir(), "operator")
	if err := process.Build(t.Context(), dir, ".", target); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { x }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var compile *process.CompileError
	if err := process.Build(t.Context(), dir, ".", target); !errors.As(err, &compile) || !strings.Contains(compile.Output, "./main.go:3:15: undefined: x") {
		t.Errorf("%v", err)
	}
	after, err := os.ReadFile(target)
	if err != nil || string(after) != string(before) {
		t.Errorf("the target changed, %v", err)
	}
	if left, _ := filepath.Glob(target + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestBuildLeavesATargetAloneThatIsUpToDate(t *testing.T) {
	t.Parallel()
	dir, target := module(t, "package main\n\nfunc main() {}\n"), filepath.Join(t.TempDir(), "operator")
	var contents [2]string
	for i := range contents {
		if err := process.Build(t.Context(), dir, ".", target); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		contents[i] = string(content)
	}
	if contents[0] != contents[1] {
		t.Error("the second build made another binary")
	}
	if info, err := os.Stat(target); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Binaries lack the tables of debuggers, unless GOFLAGS says how to link.
func TestBuildWithoutDebugInformation(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() {}\n")
	var sizes []int64
	for _, flags := range []string{"-mod=readonly", "-ldflags="} {
		t.Setenv("GOFLAGS", flags)
		target := filepath.Join(t.TempDir(), "operator")
		if err := process.Build(t.Context(), dir, ".", target); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(target)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	if sizes[0] > sizes[1]*9/10 {
		t.Errorf("a binary has %d bytes without debug information, and %d with it", sizes[0], sizes[1])
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a newer change"))
	if err := process.Build(ctx, module(t, "package main\n"), ".", filepath.Join(t.TempDir(), "operator")); err == nil || err.Error() != "a newer change" {
		t.Errorf("%v", err)
	}
}

func TestBuildNeedsAGoCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := process.CanBuild("."); err == nil || !strings.Contains(err.Error(), "no go command on the PATH") {
		t.Errorf("%v", err)
	}
	t.Setenv("OPERON_ENGINE_BINARY", os.Args[0])
	if err := process.CanBuild(project.StockMain); err != nil {
		t.Errorf("an operator without Go code: %v", err)
	}
	if err := process.CanBuild("."); err == nil {
		t.Error("no error for an operator in Go")
	}
}

// A program that no variable names, and that is not next to this executable, is built from the sources of Operon.
func TestProvideFromSources(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "dist")
	if err := process.Provide(t.Context(), process.Program{Main: "./internal/ship/dist", Variable: "OPERON_DIST_BINARY", Environment: []string{"CGO_ENABLED=0"}}, target); err != nil {
		t.Fatal(err)
	}
	if info, err := buildinfo.ReadFile(target); err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"}) {
		t.Errorf("built as %+v, %v", info, err)
	}
	if output, err := exec.CommandContext(t.Context(), target).CombinedOutput(); err == nil || !strings.Contains(string(output), "dist: ") {
		t.Errorf("without a LICENSE in its directory, it printed %q: %v", output, err)
	}
}
