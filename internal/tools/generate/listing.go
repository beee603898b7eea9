package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/tools/go/packages"
)

// listing is the graph of packages that patterns lead to, as the go command tells of it. It is
// what x/tools asks the go command for, less what no generator needs: with that (the files that
// cgo makes) the question takes twice the time.
type listing struct {
	// Response is what packages.Load takes from a driver.
	Response *packages.DriverResponse
	// Folders hold the packages whose sources may change, absolute: neither the standard library's nor those
	// in the module cache.
	Folders []string
	// Standard has the standard library's packages.
	Standard map[string]bool
}

// listed is a package as go list prints it, in part.
type listed struct {
	ImportPath, Name, Dir string
	Standard, DepOnly     bool
	GoFiles, CgoFiles     []string
	Imports               []string
	ImportMap             map[string]string
	Error                 *struct {
		Pos, Err    string
		ImportStack []string
	}
}

const listedFields = "ImportPath,Name,Dir,Standard,DepOnly,GoFiles,CgoFiles,Imports,ImportMap,Error"

// errNeedsCgo: only x/tools can list these packages.
var errNeedsCgo = errors.New("packages with cgo")

// list asks the go command for the packages.
func list(ctx context.Context, dir, tags string, patterns []string) (*listing, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-deps", "-json=" + listedFields, "-tags=" + tags, "--"}, patterns...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "PWD="+dir)
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		return nil, errors.New(text)
	}
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return understand(output)
}

// understand reads what go list printed.
func understand(output []byte) (*listing, error) {
	found := &listing{Response: &packages.DriverResponse{Compiler: runtime.Compiler, Arch: goarch()}, Standard: map[string]bool{}}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var one listed
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if len(one.CgoFiles) > 0 && !one.Standard {
			return nil, errNeedsCgo
		}
		found.add(one)
	}
}

func goarch() string {
	if asked := os.Getenv("GOARCH"); asked != "" {
		return asked
	}
	return runtime.GOARCH
}

func (l *listing) add(one listed) {
	if !one.DepOnly {
		l.Response.Roots = append(l.Response.Roots, one.ImportPath)
	}
	if one.Standard {
		l.Standard[one.ImportPath] = true
	}
	if one.mutable() {
		l.Folders = append(l.Folders, one.Dir)
	}
	l.Response.Packages = append(l.Response.Packages, one.asPackage())
}

// cached matches folders in the module cache, where nothing changes.
var cached = regexp.MustCompile(`@v\d`)

func (l listed) mutable() bool {
	return l.Dir != "" && !l.Standard && !cached.MatchString(l.Dir)
}

func (l listed) asPackage() *packages.Package {
	made := &packages.Package{ID: l.ImportPath, PkgPath: l.ImportPath, Name: l.Name, Imports: l.imports()}
	for _, file := range l.GoFiles {
		made.GoFiles = append(made.GoFiles, filepath.Join(l.Dir, file))
	}
	made.CompiledGoFiles = made.GoFiles
	if l.Error != nil {
		made.Errors = []packages.Error{{Pos: l.Error.Pos, Msg: l.message(), Kind: packages.ListError}}
	}
	return made
}

func (l listed) message() string {
	text := strings.TrimSpace(l.Error.Err)
	if text == "import cycle not allowed" {
		text += ": " + strings.Join(l.Error.ImportStack, " imports ")
	}
	return text
}

// imports are the packages that are imported, by the path that stands in the source.
func (l listed) imports() map[string]*packages.Package {
	imports := map[string]*packages.Package{}
	mapped := map[string]bool{}
	for path, id := range l.ImportMap {
		imports[path] = &packages.Package{ID: id}
		mapped[id] = true
	}
	for _, id := range l.Imports {
		if id != "C" && !mapped[id] {
			imports[id] = &packages.Package{ID: id}
		}
	}
	return imports
}
