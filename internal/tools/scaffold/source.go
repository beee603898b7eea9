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

// Framework is the module that projects use.
const Framework = "github.com/operon-framework/operon"

// origin describes where a project gets Operon from: a checkout, or a released version.
type origin struct {
	dir     string
	version string
}

// released matches the version in the path of a source that was compiled from a module cache.
var released = regexp.MustCompile(regexp.QuoteMeta(Framework) + `@(v[^/]+)/`)

// findOrigin returns the origin of this command, or the wanted one: the directory of a checkout, or a version. A command that
// was built as a release refers to that release, even in a checkout, so that projects build on every machine. Any other build
// can refer only to its checkout.
//
// A compiled source knows its path: a directory, or with -trimpath the module's path, which has a version if the module was
// not the main module. Without a directory, the checkout is searched in the directories above the executable and above the
// current directory.
func findOrigin(wanted string) (origin, error) {
	if wanted != "" {
		return originOf(wanted)
	}
	_, source, _, _ := runtime.Caller(0)
	return builtFrom(filepath.ToSlash(source), checkoutAround(), builtVersion())
}

// builtFrom returns the origin of a command whose source was compiled with that path. The argument around is a checkout that
// contains the command, and version is its release, "" for none.
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

// originOf returns the checkout or the version that a user names.
func originOf(wanted string) (origin, error) {
	if semver.IsValid(wanted) {
		if err := module.CheckPathMajor(wanted, ""); err != nil {
			return origin{}, fmt.Errorf("--operon %s: module %s has only the versions v0 and v1", wanted, Framework)
		}
		return origin{version: semver.Canonical(wanted)}, nil
	}
	dir, err := filepath.Abs(wanted)
	if err != nil {
		return origin{}, err
	}
	if !isCheckout(dir) {
		return origin{}, fmt.Errorf("--operon %s: want a version, such as v0.1.0, or the directory of a checkout of %s", wanted, Framework)
	}
	return origin{dir: dir}, nil
}

// checkoutAround finds a checkout that contains the executable or the current directory. It returns "" if there is none.
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

// isCheckout reports whether dir contains the module's sources.
func isCheckout(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(content) == Framework
}

// builtVersion returns the release of this executable, or "" if it is not a release: a pseudo-version was never published.
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

// errNoGo describes what to do on a machine without Go.
var errNoGo = errors.New("there is no go command on the PATH: install Go from your system's packages")
