package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/operon-framework/operon/bench/internal/proving"
)

// release is a module that the go command has downloaded.
type release struct{ Dir, GoMod string }

// build builds an operator in a separate module, with the versions of its release, and returns the directory of the release.
func (b *bench) build(ctx context.Context, o operator) (dir string, err error) {
	proving.Progress("build %s %s", o.name, o.version)
	var from release
	out, err := command(ctx, b.home, "go", "mod", "download", "-json", o.module+"@"+o.version)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(out, &from); err != nil {
		return "", err
	}
	into := b.path("build", o.name)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", err
	}
	released, err := os.ReadFile(from.GoMod)
	if err != nil {
		return "", err
	}
	requires, err := requiring(released, o)
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(from.Dir, "go.sum"))
	if err != nil {
		return "", err
	}
	files := map[string][]byte{"go.mod": requires, "go.sum": sums}
	target := o.pkg
	if target == "" {
		target = "."
		if files["main.go"], err = os.ReadFile(o.files(b.source, "main.go")); err != nil {
			return "", err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(into, name), content, 0o644); err != nil {
			return "", err
		}
	}
	_, err = command(ctx, into, "go", "build", "-mod=mod", "-ldflags=-w", "-o", b.binary(o), target)
	return from.Dir, err
}

func (b *bench) binary(o operator) string { return b.path("bin", o.name) }

// requiring returns the go.mod of a module that requires a release, and the same versions of all other modules as the release. Replacements
// by directories of the release are dropped, because such modules are released at the same time.
func requiring(released []byte, o operator) ([]byte, error) {
	file, err := modfile.Parse(o.module+"/go.mod", released, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range file.Replace {
		if strings.HasPrefix(r.New.Path, ".") {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	for _, tool := range file.Tool {
		if err := file.DropTool(tool.Path); err != nil {
			return nil, err
		}
	}
	file.DropToolchainStmt()
	if err := file.AddModuleStmt("bench.example/" + o.name); err != nil {
		return nil, err
	}
	if err := file.AddRequire(o.module, o.version); err != nil {
		return nil, err
	}
	file.Cleanup()
	return file.Format()
}

// command runs a program and returns its output. The error contains the program's standard error.
func command(ctx context.Context, dir, name string, arguments ...string) ([]byte, error) {
	running := exec.CommandContext(ctx, name, arguments...)
	var errs bytes.Buffer
	running.Dir, running.Stderr = dir, &errs
	out, err := running.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, errs.String())
	}
	return out, nil
}
