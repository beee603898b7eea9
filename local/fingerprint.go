package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

const (
	modulePath    = "github.com/operon-framework/operon"
	clusterModule = modulePath + "/cluster"
	binaryName    = "operon-cluster"
	nodeName      = "operon-node"
)

// source defines what a program of the cluster module is built from.
type source struct {
	// program is its name.
	program string
	// dir is the cluster module in a checkout, or "" without a checkout.
	dir string
	// version is the module's version if there is no checkout.
	version string
}

// findSource returns the checkout that this package was compiled in, if it exists and is trusted,
// or else the version that the running executable was built with.
func findSource(program string) (source, error) {
	_, file, _, _ := runtime.Caller(0)
	dir, err := checkoutOf(file)
	if err == nil {
		return source{program: program, dir: dir}, nil
	}
	if version := builtVersion(); version != "" {
		return source{program: program, version: version}, nil
	}
	return source{}, fmt.Errorf("find %s: this executable has neither a released version nor a checkout to build it from (%w); set %s to the binary", program, err, variables[program])
}

// checkoutOf returns the cluster module of the checkout that contains a source file of this package. It fails if there
// is no trusted checkout. With -trimpath, the path is relative to the module, and does not exist on this machine.
func checkoutOf(file string) (string, error) {
	dir := filepath.Join(filepath.Dir(filepath.Dir(file)), "cluster")
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is not an absolute path", dir)
	}
	return dir, Trusted(filepath.Join(dir, "go.mod"))
}

// builtVersion returns the version of this module in the running executable, or "" if it was built from modified or
// unversioned sources.
func builtVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == modulePath && module.Replace == nil && strings.HasPrefix(module.Version, "v") && !strings.Contains(module.Version, "+") {
			return module.Version
		}
	}
	return ""
}

// fingerprint identifies a build by the contents of its sources, or its version, and by the compiler
// and the platform. It does not run the go command.
func (s source) fingerprint() (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, s.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if s.dir != "" {
		if err := addFiles(hash, s.dir); err != nil {
			return "", fmt.Errorf("read the sources of %s: %w", s.program, err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

type writer interface{ Write([]byte) (int, error) }

// addFiles adds the names and contents of the files that a build can depend on.
func addFiles(hash writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || path != dir && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".md") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(hash, filepath.ToSlash(relative), len(content))
		_, err = hash.Write(content)
		return err
	})
}
