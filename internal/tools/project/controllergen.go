package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/operon-framework/operon/internal/tools/project/makefile"
)

// ControllerGen describes how a project runs controller-gen, according to its Makefile.
type ControllerGen struct {
	// Version is the version that the project pins, such as v0.16.1, or "" if it is unknown.
	Version string
	// Runs are the runs in the order in which they are written.
	Runs []ControllerGenRun
	// Files are the files that were read, relative to the project: the Makefile, and those that it includes.
	Files []string
}

// ControllerGenRun is one run of controller-gen.
type ControllerGenRun struct {
	// Target is the target in the Makefile.
	Target string
	// Dir is its working directory, relative to the project, with slashes.
	Dir string
	// Arguments are the arguments of controller-gen: crd, paths=./..., output:crd:dir=config/crd/bases.
	Arguments []string
	// File and Line are the place at which it is written.
	File string
	Line int
}

// Place returns the place at which the run is written, as file:line.
func (r ControllerGenRun) Place() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// controllerTools is the module of controller-gen, and controllerGen the path of its package.
const (
	controllerTools = "sigs.k8s.io/controller-tools"
	controllerGen   = controllerTools + "/cmd/controller-gen"
)

// makefiles are the file names that make tries, in its order.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

// generating lists the targets of kubebuilder's Makefile that generate.
var generating = []string{"manifests", "generate"}

// ReadControllerGen reads the runs of controller-gen from the Makefile in dir: for the targets manifests and generate and the
// targets that they need, or for all targets if there are no targets with these names. It returns nil if there is no
// Makefile, or if the Makefile does not run controller-gen.
//
// It fails if only a shell could determine an argument.
func ReadControllerGen(dir string) (*ControllerGen, error) {
	read, err := readMakefile(dir)
	if read == nil || err != nil {
		return nil, err
	}
	commands := read.Commands()
	tool := &ControllerGen{Files: read.Names}
	var problems []error
	for _, command := range commands {
		arguments := argumentsOf(command.Words)
		if !generates(arguments) || !wanted(read, commands, command.Target) {
			continue
		}
		run := ControllerGenRun{Target: command.Target, Dir: command.Dir, Arguments: arguments, File: command.File, Line: command.Line}
		problems = append(problems, run.check(command.Conditional))
		tool.Runs = append(tool.Runs, run)
	}
	if len(tool.Runs) == 0 {
		return nil, nil
	}
	tool.Version = pinned(dir, read)
	return tool, errors.Join(problems...)
}

// readMakefile returns nil if there is no Makefile.
func readMakefile(dir string) (*makefile.File, error) {
	for _, name := range makefiles {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return makefile.Parse(name, content, func(included string) ([]byte, error) {
			if !filepath.IsLocal(included) {
				return nil, fs.ErrPermission // whether it exists or not, it is not read
			}
			return os.ReadFile(filepath.Join(dir, included))
		})
	}
	return nil, nil
}

// wanted reports whether the recipe of a target is one of the recipes that generate.
func wanted(read *makefile.File, commands []makefile.Command, target string) bool {
	usual := slices.ContainsFunc(commands, func(c makefile.Command) bool {
		return needed(read, c.Target) && generates(argumentsOf(c.Words))
	})
	return !usual || needed(read, target)
}

// needed reports whether one of the usual targets needs a target.
func needed(read *makefile.File, target string) bool {
	return slices.ContainsFunc(generating, func(usual string) bool { return read.Needs(usual, target) })
}

// argumentsOf returns the arguments of a command that runs controller-gen, or nil for any other command.
func argumentsOf(words []string) []string {
	name := path.Base(words[0])
	if name == "controller-gen" || strings.HasPrefix(name, "controller-gen-") {
		return words[1:]
	}
	// A command whose path is unknown, for example because a script installs it, is recognized by its arguments.
	if strings.ContainsRune(words[0], makefile.Unknown) && slices.ContainsFunc(words[1:], isPaths) {
		return words[1:]
	}
	if name != "go" || len(words) < 3 || words[1] != "run" && words[1] != "tool" {
		return nil
	}
	isValue := false
	for i, word := range words[2:] {
		if isValue || strings.HasPrefix(word, "-") {
			isValue = !isValue && (word == "-mod" || word == "-modfile")
			continue
		}
		unknown := strings.ContainsRune(word, makefile.Unknown)
		if unknown && slices.ContainsFunc(words[i+3:], isTool) {
			continue // flags
		}
		if isTool(word) || unknown && slices.ContainsFunc(words, isPaths) {
			return words[i+3:]
		}
		return nil
	}
	return nil
}

// isTool reports whether the go command runs controller-gen by a name.
func isTool(word string) bool {
	at, _, _ := strings.Cut(word, "@")
	return at == "controller-gen" || strings.HasSuffix("/"+at, "/"+controllerGen)
}

func isPaths(word string) bool { return strings.HasPrefix(word, "paths=") }

// generators lists the generators of controller-gen.
var generators = []string{"crd", "rbac", "object", "webhook", "schemapatch", "applyconfiguration"}

// generates reports whether arguments select a generator: some runs only print the version.
func generates(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool {
		name, _, _ := strings.Cut(argument, ":")
		return slices.Contains(generators, name) || isPaths(argument)
	})
}

// check rejects runs whose parts are unknown, so that nothing is guessed.
func (r ControllerGenRun) check(conditional bool) error {
	if conditional {
		return fmt.Errorf("%s: whether controller-gen runs here depends on a condition of the Makefile, which is not evaluated: move the line out of the condition", r.Place())
	}
	if strings.ContainsRune(r.Dir, makefile.Unknown) {
		return fmt.Errorf("%s: the directory in which controller-gen runs here is outside the project, or only a shell can tell it: write it out, relative to the project", r.Place())
	}
	for _, argument := range r.Arguments {
		if strings.ContainsRune(argument, makefile.Unknown) {
			shown := strings.ReplaceAll(argument, string(makefile.Unknown), "…")
			return fmt.Errorf("%s: only make or a shell can tell the argument %q of controller-gen: write it out in the Makefile, without functions, shell variables, and variables that are set under a condition or in a file outside the project", r.Place(), shown)
		}
	}
	return nil
}

// asked matches the places in a Makefile that pin the version of controller-gen: in a variable, or after the path of its
// package.
var asked = regexp.MustCompile(`(?m)^\s*(?:export\s+)?CONTROLLER_(?:TOOLS|GEN)_VERSION\s*[:?]*=\s*(\S+)|` + regexp.QuoteMeta(controllerGen) + `[@, ]\s*(\$[({]\w+[)}]|v\d[\w.+-]*)`)

var version = regexp.MustCompile(`^v\d[\w.+-]*$`)

// pinned returns the version of controller-gen that a project pins, or "" if it is unknown.
func pinned(dir string, read *makefile.File) string {
	for _, found := range read.Find(asked) {
		if version.MatchString(found) {
			return found
		}
	}
	return required(dir)
}

// required returns the version of controller-tools that go.mod requires, which `go tool controller-gen` uses.
func required(dir string) string {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	file, err := modfile.ParseLax("go.mod", content, nil)
	if err != nil {
		return ""
	}
	for _, one := range file.Require {
		if one.Mod.Path == controllerTools {
			return one.Mod.Version
		}
	}
	return ""
}
