package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// Framework is what an operator is written with, as its go.mod tells.
type Framework string

// The frameworks that make a difference to how an operator is run.
const (
	// Operon operators take Operon's flags.
	Operon Framework = "Operon"
	// ControllerRuntime operators, kubebuilder's and Operator SDK's among them, take the
	// flags that their main package defines.
	ControllerRuntime Framework = "controller-runtime"
	// Unknown is every other framework, or none.
	Unknown Framework = "unknown"
)

// Module is what go.mod says of a project.
type Module struct {
	// Path is the module's path.
	Path string
	// Framework is what the module requires to write operators with.
	Framework Framework
}

// frameworks are the modules that tell a framework, the more telling first.
var frameworks = []struct {
	module    string
	framework Framework
}{
	{"github.com/operon-framework/operon", Operon},
	{"sigs.k8s.io/controller-runtime", ControllerRuntime},
}

func readModule(dir string) (Module, error) {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return Module{}, fmt.Errorf("%s is not an operator project: it has no go.mod; name the directory that holds the operator's go.mod", dir)
	}
	if err != nil {
		return Module{}, err
	}
	file, err := modfile.ParseLax("go.mod", content, nil)
	if err != nil {
		return Module{}, err
	}
	if file.Module == nil {
		return Module{}, fmt.Errorf("%s has no module line; `go mod init` writes one", filepath.Join(dir, "go.mod"))
	}
	module := Module{Path: file.Module.Mod.Path, Framework: frameworkOf(file)}
	return module, nil
}

func frameworkOf(file *modfile.File) Framework {
	required := map[string]bool{}
	for _, require := range file.Require {
		required[require.Mod.Path] = true
	}
	for _, known := range frameworks {
		if required[known.module] {
			return known.framework
		}
	}
	return Unknown
}
