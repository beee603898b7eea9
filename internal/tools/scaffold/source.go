package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Framework is the module that projects are written with.
const Framework = "github.com/operon-framework/operon"

// origin is where a project gets Operon from: a checkout, or a released version.
type origin struct {
	dir     string
	version string
}

// released finds the version in the path of a source that was compiled from a module's cache.
var released = regexp.MustCompile(regexp.QuoteMeta(Framework) + `@(v[^/]+)/`)

// findOrigin is where this command itself came from, or what was asked for instead: the directory of a
// checkout, or a version. A command that was built as a release refers to that release, also in a checkout, so that
// projects build on every machine. Any other build can refer to its checkout only.
//
// A compiled source knows its path: a directory, or with -trimpath the module's path, which has a
// version when the module was not the main one. Without a directory, the checkout is looked for
// around the executable and around the current directory.
func findOrigin(wanted string) (origin, error) {
	if wanted != "" {
		return originOf(wanted)
	}
	_, source, _, _ := runtime.Caller(0)
	return builtFrom(filepath.ToSlash(source), checkoutAround(), builtVersion())
}

// builtFrom is where a command came from whose source was compiled as that path, in which around is a checkout that
// holds it and version is its release, "" for none.
func builtFrom(source, around, version string) (origin, error) {
	if found := released.FindStringSubmatch(source); found != nil {
		return origin{version: found[1]}, nil
	}
	dir := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.FromSlash(source)))))
	switch {
	case version != "":
		return origin{version: version}, nil
	case filepath.IsAbs(dir) && isCheckout(dir):
		return origin{dir: dir}, nil
	case around != "":
		return origin{dir: around}, nil
	}
	return origin{}, fmt.Errorf("this operon was built from sources that no longer exist (%s), so that a project cannot refer to them: "+
		"build operon again where they are now, or name the directory or a released version with --operon", dir)
}

// originOf is the checkout or the version that a user names.
func originOf(wanted string) (origin, error) {
	if semver.IsValid(wanted) {
		if err := module.CheckPathMajor(wanted, ""); err != nil {
			return origin{}, fmt.Errorf("--operon %s: module %s has versions v0 and v1 alone", wanted, Framework)
		}
		return origin{version: semver.Canonical(wanted)}, nil
	}
	dir, err := filepath.Abs(wanted)
	if err != nil {
		return origin{}, err
	}
	if !isCheckout(dir) {
		return origin{}, fmt.Errorf("--operon %s: it is neither a version, such as v0.1.0, nor the directory of a checkout of %s", wanted, Framework)
	}
	return origin{dir: dir}, nil
}

// checkoutAround finds a checkout that holds the executable or the current directory, "" for none.
func checkoutAround() string {
	executable, _ := os.Executable()
	current, _ := os.Getwd()
	for _, place := range []string{filepath.Dir(executable), current} {
		for dir := place; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if isCheckout(dir) {
				return dir
			}
		}
	}
	return ""
}

// isCheckout reports whether dir holds the module's sources.
func isCheckout(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(content) == Framework
}

// builtVersion is the release that this executable was built as, "" for none: a pseudo-version
// is nothing that was published.
func builtVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != Framework {
		return ""
	}
	version := info.Main.Version
	if !semver.IsValid(version) || module.IsPseudoVersion(version) || strings.Contains(version, "+") {
		return ""
	}
	return version
}

// errNoGo is what to do about a machine without Go.
var errNoGo = errors.New("there is no go command on the PATH: install Go from your system's packages")
