package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// modules holds go.mod and go.sum of a project that uses a checkout: without a kind (init), and with one (kind). The versions
// are those of this checkout; a test ensures that `go mod tidy` changes nothing in them.
//
//go:embed modules
var modules embed.FS

// pinned is one of these pairs.
type pinned struct {
	mod *modfile.File
	sum []byte
}

func readPinned(name string) (pinned, error) {
	text, err := modules.ReadFile("modules/" + name + ".mod.txt")
	if err != nil {
		return pinned{}, err
	}
	sum, err := modules.ReadFile("modules/" + name + ".sum.txt")
	if err != nil {
		return pinned{}, err
	}
	mod, err := modfile.Parse(name+".mod.txt", text, nil)
	return pinned{mod, sum}, err
}

// fits reports whether a checkout requires the same versions, which is the case unless it changed since this command was
// built.
func (p pinned) fits(checkout string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return false, err
	}
	file, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return false, err
	}
	required := map[string]string{Framework: frameworkVersion}
	for _, require := range file.Require {
		required[require.Mod.Path] = require.Mod.Version
	}
	for _, require := range p.mod.Require {
		if required[require.Mod.Path] != require.Mod.Version {
			return false, nil
		}
	}
	return true, nil
}

// frameworkVersion is the placeholder version of a module that is replaced by a directory.
const frameworkVersion = "v0.0.0"

// goModFor returns the go.mod of a new project, and its go.sum if both are complete. Otherwise the go command has to complete
// them.
func goModFor(path string, from origin) (mod, sum []byte, complete bool, err error) {
	base, err := readPinned("init")
	if err != nil {
		return nil, nil, false, err
	}
	if from.dir != "" {
		complete, err = base.fits(from.dir)
	}
	if err != nil {
		return nil, nil, false, err
	}
	file := &modfile.File{Syntax: &modfile.FileSyntax{}}
	required := []*modfile.Require{{Mod: module.Version{Path: Framework, Version: from.version}}}
	if complete {
		required, sum = base.mod.Require, base.sum
	}
	edits := []error{file.AddModuleStmt(path), file.AddGoStmt(base.mod.Go.Version)}
	if from.dir != "" {
		required[0].Mod.Version = frameworkVersion
		edits = append(edits, file.AddReplace(Framework, "", from.dir, ""))
	}
	if err := errors.Join(edits...); err != nil {
		return nil, nil, false, err
	}
	file.SetRequireSeparateIndirect(required)
	file.Cleanup()
	mod, err = file.Format()
	return mod, sum, complete, err
}

// require adds to go.mod and go.sum of a project what its planned sources import: from the data in this command if the
// project uses the checkout from which it was built, and otherwise with `go mod tidy` in a copy of the tree.
func (p *Plan) require(ctx context.Context, copied string, tell func(string)) error {
	current, err := p.read("go.mod")
	if err != nil {
		return err
	}
	file, err := modfile.Parse("go.mod", current, nil)
	if err != nil {
		return err
	}
	known, err := readPinned("kind")
	if err != nil {
		return err
	}
	imported, err := importsIn(copied)
	if err != nil {
		return err
	}
	// An API server needs many more modules.
	if fits, err := known.fits(checkoutOf(file, p.dir)); err != nil || !fits || imported[serving] {
		return p.tidy(ctx, copied, tell)
	}
	if err := p.merge(file, known, imported); err != nil {
		return err
	}
	return p.lay(copied)
}

// checkoutOf returns the directory that replaces Operon's module, or "" if there is none.
func checkoutOf(file *modfile.File, dir string) string {
	for _, replace := range file.Replace {
		if replace.Old.Path == Framework && replace.New.Version == "" {
			if filepath.IsAbs(replace.New.Path) {
				return replace.New.Path
			}
			return filepath.Join(dir, replace.New.Path)
		}
	}
	return ""
}

// merge adds the known requirements to those of the project. The versions that the project already requires are not changed.
func (p *Plan) merge(file *modfile.File, known pinned, imported map[string]bool) error {
	required := map[string]string{}
	for _, require := range append(known.mod.Require, file.Require...) {
		required[require.Mod.Path] = require.Mod.Version
	}
	direct := map[string]bool{}
	for path := range imported {
		direct[owner(path, required)] = true
	}
	var all []*modfile.Require
	for path, version := range required {
		all = append(all, &modfile.Require{Mod: module.Version{Path: path, Version: version}, Indirect: !direct[path]})
	}
	file.SetRequireSeparateIndirect(all)
	file.Cleanup()
	mod, err := file.Format()
	if err != nil {
		return err
	}
	sum, err := p.read("go.sum")
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	fresh, err := readPinned("init")
	if err != nil {
		return err
	}
	if bytes.Equal(sum, fresh.sum) {
		sum = nil // the project has only the initial entries, and known is complete
	}
	p.write("go.mod", mod)
	p.write("go.sum", mergeSums(sum, known.sum))
	return nil
}

// owner returns the module that provides a package, or "" if it is not one of these.
func owner(path string, modules map[string]string) string {
	for ; path != "." && path != "/"; path = filepath.Dir(path) {
		if _, ok := modules[path]; ok {
			return path
		}
	}
	return ""
}

// importsIn returns the imports of all sources below dir.
func importsIn(dir string) (map[string]bool, error) {
	found := map[string]bool{}
	return found, eachSource(dir, func(path string, content []byte) error {
		tree, err := parser.ParseFile(token.NewFileSet(), path, content, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range tree.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			found[name] = true
		}
		return nil
	})
}

// mergeSums returns the union of two go.sum files, in the order of the go command.
func mergeSums(a, b []byte) []byte {
	lines := map[module.Version]string{}
	for _, line := range strings.Split(string(a)+"\n"+string(b), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 {
			lines[module.Version{Path: fields[0], Version: fields[1]}] = line
		}
	}
	var keys []module.Version
	for key := range lines {
		keys = append(keys, key)
	}
	module.Sort(keys)
	var all bytes.Buffer
	for _, key := range keys {
		fmt.Fprintln(&all, lines[key])
	}
	return all.Bytes()
}

// aboutWorkspace returns what to do about modules of a workspace, which `go mod tidy` does not know, or "" if go.work is not used.
func (p *Plan) aboutWorkspace(ctx context.Context) string {
	command := exec.CommandContext(ctx, "go", "env", "GOWORK")
	command.Dir = p.dir
	if file, err := command.Output(); err != nil || !filepath.IsAbs(strings.TrimSpace(string(file))) {
		return ""
	}
	return "\n`go mod tidy` does not use go.work: if a module of the workspace is missing, add a replace line for it to go.mod"
}

// tidy runs the go command to complete go.mod and go.sum in a copy of the tree, and plans to write the results.
func (p *Plan) tidy(ctx context.Context, copied string, tell func(string)) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errNoGo
	}
	tell("looking for the modules that the project needs (go mod tidy)")
	command := exec.CommandContext(ctx, "go", "mod", "tidy")
	command.Dir = copied
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if said, err := command.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return fmt.Errorf("the modules that the project needs could not be downloaded; nothing was written: `go mod tidy` printed\n%s%s", strings.Join(lines[max(0, len(lines)-5):], "\n"), p.aboutWorkspace(ctx))
	}
	for _, path := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(copied, path))
		if err != nil {
			return err
		}
		if path == "go.mod" {
			if content, err = p.undoAbsolute(content); err != nil {
				return err
			}
		}
		if now, err := p.read(path); err != nil || !slices.Equal(now, content) {
			p.write(path, content)
		}
	}
	return nil
}
