package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// Framework is the framework of an operator, according to its go.mod.
type Framework string

// The frameworks that affect how an operator is run.
const (
	// Operon operators have Operon's flags.
	Operon Framework = "Operon"
	// ControllerRuntime operators, including those of kubebuilder and Operator SDK, have the flags that their main package
	// defines.
	ControllerRuntime Framework = "controller-runtime"
	// Unknown is any other framework, or none.
	Unknown Framework = "unknown"
)

// Module is the part of a project's go.mod that is used.
type Module struct {
	// Path is the path of the module.
	Path string
	// Framework is the framework for operators that the module requires.
	Framework Framework
}

// frameworks lists the modules that indicate a framework, the more specific ones first.
var frameworks = []struct {
	module    string
	framework Framework
}{
	{operon, Operon},
	{"sigs.k8s.io/controller-runtime", ControllerRuntime},
}

func readModule(dir string) (Module, error) {
	if WithoutGo(dir) {
		return stockModule(dir), nil
	}
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return Module{}, fmt.Errorf("%s is not an operator project: it has neither a go.mod nor a watches.yaml; name the directory that holds one of them", dir)
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
