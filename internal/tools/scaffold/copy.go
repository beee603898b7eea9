package scaffold

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/operon-framework/operon/internal/tools/generate"
	"github.com/operon-framework/operon/internal/tools/project"
)

// generated adds the planned files to a copy of the project, adds the required modules to go.mod, and plans the files that
// the generators write there. The generators and the compiler read files: the copy contains the planned files, and the plan
// still writes everything at once or nothing.
//
// Whether the project compiles is checked last, because generators give wrong results for code that does not compile.
func (p *Plan) generated(ctx context.Context, tell func(string)) error {
	return p.inCopy(func(copied string) error {
		if err := p.generatedIn(ctx, copied, tell); err != nil {
			return err
		}
		return p.compilesIn(ctx, copied)
	})
}

func (p *Plan) generatedIn(ctx context.Context, copied string, tell func(string)) error {
	if err := p.require(ctx, copied, tell); err != nil {
		return err
	}
	if err := p.dropVendor(copied); err != nil {
		return err
	}
	result, err := generate.Plan(ctx, copied, generate.Options{Again: true})
	if err != nil {
		return p.named(err, copied)
	}
	for _, path := range result.Changes.Paths() {
		content, ok := result.Changes.Content(path)
		if !ok {
			continue
		}
		if now, err := os.ReadFile(p.place(path)); err != nil || string(now) != string(content) {
			p.write(path, content)
		}
	}
	return nil
}

// dropVendor removes the vendor directory of the copy if go.mod differs there, because the go command rejects it in this case.
func (p *Plan) dropVendor(copied string) error {
	was, _ := os.ReadFile(p.place("go.mod")) // a new project has none
	now, err := os.ReadFile(filepath.Join(copied, "go.mod"))
	vendor := filepath.Join(copied, "vendor")
	if _, missing := os.Stat(vendor); err != nil || missing != nil || bytes.Equal(was, now) {
		return err
	}
	if planned, _ := p.read("go.mod"); !bytes.Equal(was, planned) {
		p.Next = append([]string{"go mod vendor"}, p.Next...)
	}
	return os.RemoveAll(vendor)
}

// compilesIn returns an error if the planned project does not compile. It does not check a project whose only source is
// main.go, because everything in such a project is known.
func (p *Plan) compilesIn(ctx context.Context, copied string) error {
	sources := 0
	err := eachSource(p.dir, func(string, []byte) error {
		sources++
		return nil
	})
	if err != nil || sources < 2 {
		return err
	}
	if err := p.lay(copied, p.Paths()...); err != nil {
		return err
	}
	if wrong := project.Compile(ctx, copied, false); wrong != nil {
		return project.NotCompiling(copied, wrong)
	}
	return nil
}

// inCopy calls do with a copy of the project that contains the planned files, and then removes the copy.
func (p *Plan) inCopy(do func(copied string) error) error {
	copied, err := os.MkdirTemp("", "operon-project-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if copied, err = filepath.EvalSymlinks(copied); err != nil {
		return err
	}
	if err := copyTree(p.dir, copied); err != nil {
		return err
	}
	if err := p.lay(copied, p.Paths()...); err != nil {
		return err
	}
	return do(copied)
}

// lay writes planned files to the copy, and go.mod and go.sum, because the go command writes to them in place and they are
// links before. In the copy, go.mod refers to directories by absolute paths.
func (p *Plan) lay(copied string, paths ...string) error {
	for _, path := range append(paths, "go.mod", "go.sum") {
		content, err := p.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && path == "go.mod" {
			content, err = p.absolute(content)
		}
		if err != nil {
			return err
		}
		target := filepath.Join(copied, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.RemoveAll(target); err != nil { // it may be a link to the project's own file
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// absolute converts the relative directories in a go.mod to absolute ones.
func (p *Plan) absolute(content []byte) ([]byte, error) {
	return editReplaces(content, func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(p.dir, path)
	})
}

// undoAbsolute restores the directories in a go.mod as they are in the project's go.mod.
func (p *Plan) undoAbsolute(content []byte) ([]byte, error) {
	current, err := p.read("go.mod")
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", current, nil)
	if err != nil {
		return nil, err
	}
	written := map[string]string{}
	for _, replace := range file.Replace {
		if replace.New.Version == "" && !filepath.IsAbs(replace.New.Path) {
			written[filepath.Join(p.dir, replace.New.Path)] = replace.New.Path
		}
	}
	return editReplaces(content, func(path string) string {
		if relative, ok := written[path]; ok {
			return relative
		}
		return path
	})
}

func editReplaces(content []byte, edit func(path string) string) ([]byte, error) {
	file, err := modfile.Parse("go.mod", content, nil)
	if err != nil {
		return nil, err
	}
	for _, replace := range file.Replace {
		if replace.New.Version != "" || edit(replace.New.Path) == replace.New.Path {
			continue
		}
		if err := file.AddReplace(replace.Old.Path, replace.Old.Version, edit(replace.New.Path), ""); err != nil {
			return nil, err
		}
	}
	return file.Format()
}

// named replaces the path of the copy in an error by the project's directory.
func (p *Plan) named(err error, copied string) error {
	said := strings.ReplaceAll(err.Error(), copied+string(filepath.Separator), "")
	return errors.New(strings.ReplaceAll(said, copied, p.dir))
}

// copyTree copies the files of a project, as links if the file system allows it. In the copy, only files that lay wrote are
// written in place.
func copyTree(from, to string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil || relative == "." {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); project.Ignored(name) && name != "vendor" && name != "testdata" {
				return filepath.SkipDir // without sources, and often with many other files
			}
			return os.Mkdir(filepath.Join(to, relative), 0o755)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		return copyFile(path, filepath.Join(to, relative))
	})
}

func copyFile(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// slashed returns the path of a file relative to dir, with slashes.
func slashed(dir, name string) (string, error) {
	relative, err := filepath.Rel(dir, name)
	return filepath.ToSlash(relative), err
}

// eachSource calls visit for each Go source below dir.
func eachSource(dir string, visit func(path string, content []byte) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != dir && project.Ignored(entry.Name()) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return visit(path, content)
	})
}
