package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/operon-framework/operon/internal/ship/licenses"
	"github.com/operon-framework/operon/internal/ship/sbom"
	"github.com/operon-framework/operon/internal/tools/glob"
)

// suffix is that of the names of archives.
const suffix = ".tar.gz"

// program is a program of a release: its name, the directory of its module, and its main package in that module.
type program struct {
	name, module, main string
	// system is the only operating system of the program; "" means all.
	system string
}

// platform is an operating system and an architecture, as Go names them.
type platform struct{ system, architecture string }

// environment overrides the user's settings of the go command, so that the same sources result in the same programs, which run on every
// machine of the platform. GOFLAGS is not empty because an empty one would be looked up elsewhere.
func (p platform) environment() []string {
	return []string{
		"GOOS=" + p.system, "GOARCH=" + p.architecture, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-trimpath", "GOEXPERIMENT=", "GOFIPS140=off",
		"GOAMD64=v1", "GOARM64=v8.0",
	}
}

// release builds the archives of one commit.
type release struct {
	programs []program
	// version is the version of all programs.
	version string
	// common are the files of every archive.
	common   []file
	out      string
	modified time.Time
	tell     func(format string, values ...any)
}

// archive builds the archive of a platform.
func (r *release) archive(ctx context.Context, p platform) (err error) {
	work, err := os.MkdirTemp("", "operon-dist-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	files := slices.Clone(r.common)
	for _, one := range r.programs {
		if one.system != "" && one.system != p.system {
			continue
		}
		r.tell("%s/%s: %s", p.system, p.architecture, one.name)
		built, err := r.build(ctx, p, one, filepath.Join(work, one.name))
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		files = append(files, built...)
	}
	name := fmt.Sprintf("operon_%s_%s_%s", r.version, p.system, p.architecture)
	path := filepath.Join(r.out, name+suffix)
	if err := errors.Join(os.MkdirAll(r.out, 0o755), remove(filepath.Join(r.out, checksums))); err != nil {
		return err
	}
	if err := writeArchive(path, name, files, r.modified); err != nil {
		return err
	}
	r.tell("wrote %s", path)
	return nil
}

// remove removes a file, if it exists.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// build builds a program, and returns the files of the archive that belong to it.
func (r *release) build(ctx context.Context, p platform, one program, target string) ([]file, error) {
	info, err := compile(ctx, p, one, target)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(target)
	if err != nil {
		return nil, err
	}
	linked, err := linkedInto(ctx, p, one)
	if err != nil {
		return nil, err
	}
	notices, err := licenses.Collect(linked)
	if err != nil {
		return nil, err
	}
	for _, module := range info.Deps {
		if module.Replace != nil && strings.HasPrefix(module.Replace.Path, ".") { // another module of this release
			module.Version, module.Replace = r.version, nil
		}
	}
	digest := sha256.Sum256(content)
	document, err := sbom.Write(sbom.Subject{
		Name: one.name, Version: r.version, Digest: hex.EncodeToString(digest[:]), Created: r.modified, By: "operon-dist-" + r.version,
		Info: info, Licenses: licenses.Declared(linked, notices),
	})
	if err != nil {
		return nil, err
	}
	files := []file{{path: one.name, content: content, executable: true}, {path: "sbom/" + one.name + ".spdx.json", content: document}}
	for _, notice := range notices {
		files = append(files, file{path: "licenses/" + one.name + "/" + notice.Path, content: notice.Content})
	}
	return files, nil
}

// compile compiles a program without debug information, and returns what the linker added about it.
func compile(ctx context.Context, p platform, one program, target string) (*debug.BuildInfo, error) {
	if _, err := output(ctx, one.module, p.environment(), "go", "build", "-ldflags=-s -w", "-o", target, one.main); err != nil {
		return nil, err
	}
	return buildinfo.ReadFile(target)
}

// linkedInto lists the packages that are linked into a program.
func linkedInto(ctx context.Context, p platform, one program) ([]licenses.Linked, error) {
	said, err := output(ctx, one.module, p.environment(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{$.ImportPath}}\t{{$.Dir}}{{end}}", one.main)
	if err != nil {
		return nil, err
	}
	var all []licenses.Linked
	for line := range strings.Lines(string(said)) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) == 3 {
			all = append(all, licenses.Linked{Module: fields[0], Package: fields[1], Dir: fields[2]})
		}
	}
	return all, nil
}

// sum writes the checksums of all archives of this version.
func (r *release) sum() error {
	archives, err := glob.In(r.out, "operon_"+r.version+"_*"+suffix)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, path := range archives {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), filepath.Base(path))
	}
	return os.WriteFile(filepath.Join(r.out, checksums), text.Bytes(), 0o644)
}

// output runs a command in a directory and returns what it prints. The command gets time to end the commands that it has started.
func output(ctx context.Context, dir string, env []string, name string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // this process forwards Ctrl-C
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = 5 * time.Second
	var complaints bytes.Buffer
	command.Stderr = &complaints
	said, err := command.Output()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, strings.TrimSpace(complaints.String()))
	}
	return said, nil
}
