package scaffold

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

// tree is an Operon project in a directory.
type tree struct {
	dir    string
	module string
	// name is the name of the operator that is passed to operon.Main.
	name string
	// domain completes groups. It is "" if the project does not determine it.
	domain string
	main   *source
	kinds  []project.Kind
}

// readTree reads the project in dir. Changes of a killed run are undone first.
func readTree(dir string) (*tree, error) {
	t := &tree{}
	var err error
	if t.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := t.readModule(); err != nil {
		return nil, err
	}
	if _, err := changes.In(t.dir); err != nil {
		return nil, err
	}
	for _, read := range []func() error{t.readMain, t.readKinds} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) readModule() error {
	if err := isFolder(t.dir); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(t.dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not an operator project: it has no go.mod: run this in the directory of a project, name it with --dir, or create one with `operon init`", t.dir)
	}
	if err != nil {
		return err
	}
	if t.module = modfile.ModulePath(content); t.module == "" {
		return fmt.Errorf("%s has no module line; `go mod init` writes one", filepath.Join(t.dir, "go.mod"))
	}
	if _, err := os.Stat(filepath.Join(t.dir, "PROJECT")); err == nil {
		return fmt.Errorf("%s is a kubebuilder or Operator SDK project, which has its own layout: `operon generate` and `operon up` work in it, but `operon create` is only for projects of `operon init`", t.dir)
	}
	return nil
}

// isFolder returns an error if a path is not a directory.
func isFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %s does not exist: name a project directory with --dir", dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file: name the directory of a project with --dir", dir)
	}
	return err
}

var domainLine = regexp.MustCompile(`(?m)^//operon:domain[ \t]+(\S+)[ \t\r]*$`)

// readMain finds the call of operon.Main, which lists the parts of the operator.
func (t *tree) readMain() error {
	files, err := glob.In(t.dir, "*.go")
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parseSource(filepath.Base(name), content)
		if err != nil {
			return project.NotCompiling(t.dir, err)
		}
		if found := domainLine.FindSubmatch(content); found != nil {
			t.domain = string(found[1])
		}
		if s.importOf(Framework) != "" && mentionsMain(s) {
			t.main = s
		}
	}
	if t.main == nil {
		return fmt.Errorf("%s is not an Operon project: no source file calls operon.Main: create one with `operon init`, or name another directory with --dir", t.dir)
	}
	p, err := project.Identify(t.dir, project.Options{Main: "."})
	if err != nil {
		return err
	}
	t.name = p.Operator()
	return nil
}

func mentionsMain(s *source) bool {
	return syntax.Any(s.tree, func(call *ast.CallExpr) bool { return isName(call.Fun, s.importOf(Framework), "Main") })
}

func (t *tree) readKinds() error {
	var err error
	t.kinds, err = project.Kinds(t.dir)
	return err
}

// folderFor returns the directory for the package of a group and version: the existing one, or api/VERSION for the first
// group of a project and api/GROUP/VERSION for others.
func (t *tree) folderFor(group, version string) (folder string, exists bool) {
	first := "api"
	for _, kind := range t.kinds {
		if kind.Group == group && kind.Version == version {
			return kind.Folder, true
		}
		if path.Dir(kind.Folder) == "api" {
			label, _, _ := strings.Cut(group, ".")
			first = path.Join("api", label)
		}
	}
	for _, kind := range t.kinds {
		if kind.Group == group {
			return path.Join(path.Dir(kind.Folder), version), false
		}
	}
	folder = path.Join(first, version)
	if sources, _ := glob.In(t.dir, folder+"/*.go"); len(sources) > 0 {
		label, _, _ := strings.Cut(group, ".") // the kinds there have no definitions, and are in another group
		folder = path.Join("api", label, version)
	}
	return folder, false
}

// complete adds the project's domain to a group without one.
func (t *tree) complete(group string) string {
	if group == "" || strings.Contains(group, ".") || t.domain == "" {
		return group
	}
	return group + "." + t.domain
}

// declared returns the names that the package in a directory declares, and the files that declare them.
func (t *tree) declared(folder string) (map[string]string, error) {
	names := map[string]string{}
	files, err := glob.In(t.dir, folder+"/*.go")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, name := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, project.NotCompiling(t.dir, err)
		}
		for _, declaration := range parsed.Decls {
			for _, declared := range syntax.Declared(declaration) {
				names[declared] = path.Join(folder, filepath.Base(name))
			}
		}
	}
	return names, nil
}

func (t *tree) place(folder string) string { return filepath.Join(t.dir, filepath.FromSlash(folder)) }
