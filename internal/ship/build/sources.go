package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/ship/licenses"
	"github.com/operon-framework/operon/internal/tools/glob"
)

// pkg is a package of the program that is not in the module cache.
type pkg struct {
	Dir string
	// Embeds are the patterns of embedded files.
	Embeds []string
}

// sources are the sources of a program that can change.
type sources struct {
	Packages []pkg
	// Modules are go.mod files: those of the packages, and all those of a workspace, because each may raise the version of a
	// module.
	Modules []string
	// linked holds all packages outside of the standard library.
	linked []licenses.Linked
	// main is the main package.
	main pkg
}

// list queries the go command for the packages of the program.
func (t toolchain) list(ctx context.Context, target platform, main, cache string) (sources, error) {
	output, err := t.output(ctx, target.env, "list", "-e", "-deps", "-tags", t.tags, "-json=Dir,ImportPath,Standard,EmbedPatterns,Module", main)
	if err != nil {
		return sources{}, refused(target, err)
	}
	own, err := t.output(ctx, target.env, "list", "-m", "-f", "{{.GoMod}}")
	if err != nil {
		return sources{}, refused(target, err)
	}
	found := sources{}
	for module := range strings.Lines(string(own)) {
		if module = strings.TrimSpace(module); module != "" && !inside(cache, module) {
			found.Modules = append(found.Modules, module)
		}
	}
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var one struct {
			Dir, ImportPath string
			Standard        bool
			EmbedPatterns   []string
			Module          *struct{ Path, GoMod string }
		}
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return sources{}, err
		}
		if one.Standard || one.Dir == "" {
			continue
		}
		found.main = pkg{one.Dir, one.EmbedPatterns} // the go command lists it last
		if one.Module != nil {
			found.linked = append(found.linked, licenses.Linked{Module: one.Module.Path, Package: one.ImportPath, Dir: one.Dir})
		}
		if inside(cache, one.Dir) {
			continue
		}
		found.Packages = append(found.Packages, found.main)
		// A vendored package has no go.mod.
		if one.Module != nil && one.Module.GoMod != "" && !slices.Contains(found.Modules, one.Module.GoMod) {
			found.Modules = append(found.Modules, one.Module.GoMod)
		}
	}
}

// inside reports whether a file is below a directory.
func inside(dir, file string) bool { return strings.HasPrefix(file, dir+string(filepath.Separator)) }

// compiled lists the extensions of files that the go command reads in a package's directory, including optimization profiles.
var compiled = []string{".pgo", ".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso"}

// files returns the absolute paths of all input files, and of files that would become inputs if they changed.
func (s sources) files(workspace string) ([]string, error) {
	var found []string
	for _, module := range s.Modules {
		dir := filepath.Dir(module)
		found = append(found, module, filepath.Join(dir, "go.sum"), filepath.Join(dir, "vendor", "modules.txt"))
		notices, err := licensesIn(dir)
		if err != nil {
			return nil, err
		}
		found = append(found, notices...)
	}
	if workspace != "" && workspace != "off" {
		found = append(found, workspace, workspace+".sum")
	}
	for _, one := range s.Packages {
		entries, err := os.ReadDir(one.Dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if slices.Contains(compiled, filepath.Ext(entry.Name())) && !strings.HasSuffix(entry.Name(), "_test.go") {
				found = append(found, filepath.Join(one.Dir, entry.Name()))
			}
		}
		notices, err := licensesIn(one.Dir)
		if err != nil {
			return nil, err
		}
		found = append(found, notices...)
		embedded, err := one.embedded()
		if err != nil {
			return nil, err
		}
		found = append(found, embedded...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// licensesIn returns the license and notice files in a directory.
func licensesIn(dir string) ([]string, error) {
	names, err := licenses.Names(dir)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}

// embedded returns the files that match the patterns of a package. In directories, it leaves out what the go command does not embed: other
// modules, links, and, unless the pattern says all, hidden files.
func (p pkg) embedded() ([]string, error) {
	var found []string
	for _, pattern := range p.Embeds {
		pattern, all := strings.CutPrefix(pattern, "all:")
		matches, err := glob.In(p.Dir, pattern)
		if err != nil {
			return nil, err
		}
		for _, match := range matches {
			err := filepath.WalkDir(match, func(path string, entry fs.DirEntry, err error) error {
				hidden := err == nil && path != match && !all && strings.ContainsRune("._", rune(entry.Name()[0]))
				switch {
				case err != nil:
					return err
				case entry.IsDir() && (hidden || path != match && isModule(path)):
					return fs.SkipDir
				case entry.Type().IsRegular() && !hidden:
					found = append(found, path)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// sums returns the hashes of files, "" for a file that does not exist.
func sums(files []string) (map[string]string, error) {
	now := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			now[file] = ""
			continue
		}
		if err != nil {
			return nil, err
		}
		now[file] = sum(content)
	}
	return now, nil
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
