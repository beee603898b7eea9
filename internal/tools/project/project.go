package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Project is an operator project in a directory.
type Project struct {
	// Dir is the absolute path of the project's directory. Files are named relative to it.
	Dir string
	// Name is the operator's name, a DNS label: the name in PROJECT (kubebuilder), or else the last element of the module's path.
	Name string
	// Module is the project's go.mod.
	Module Module
	// Layout is the content of PROJECT, or nil if the project was not created by kubebuilder or Operator SDK.
	Layout *Layout
	// Main is the operator's main package.
	Main Main
	// CRDs are the CustomResourceDefinitions, ordered by file name.
	CRDs []Object
	// Grants are the permissions for the operator.
	Grants []Grant
	// Policies are the admission policies and their bindings under config/policy.
	Policies []Object
	// Samples are the objects under config/samples, ordered by file name.
	Samples []Object
}

// Operator returns the operator's own name, from which the names of its Services, Leases and Secrets are derived: the name in its code, or else
// the project's name.
func (p *Project) Operator() string { return cmp.Or(p.Main.Operator, p.Name) }

// The directories of a project's manifests, relative to the project.
const (
	CRDFolder    = "config/crd"
	RBACFolder   = "config/rbac"
	PolicyFolder = "config/policy"
	SampleFolder = "config/samples"
)

// Options are settings that are not part of the directory.
type Options struct {
	// Main is the directory of the main package, relative to the project. The default is the project's directory itself, ./cmd,
	// or the only main package in a direct subdirectory of ./cmd.
	Main string
}

// Read reads the project in dir. It returns one error for its Go side, and all errors in manifests, each with file and line.
func Read(dir string, options Options) (*Project, error) {
	p, err := Identify(dir, options)
	if err != nil {
		return nil, err
	}
	return p, p.ReadManifests()
}

// Identify is like Read, but does not read the manifests, which need not exist yet.
func Identify(dir string, options Options) (*Project, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := mustBeFolder(dir); err != nil {
		return nil, err
	}
	p := &Project{Dir: absolute}
	if p.Module, err = readModule(absolute); err != nil {
		return nil, err
	}
	if p.Main, err = findMain(absolute, options.Main); err != nil {
		return nil, err
	}
	if p.Layout, err = ReadLayout(absolute); err != nil {
		return nil, err
	}
	if p.Name, err = readName(absolute, p.Layout, p.Module.Path); err != nil {
		return nil, err
	}
	return p, nil
}

// ReadManifests reads CRDs, Grants, Policies and Samples again, for example after an edit. On an error they are not changed.
func (p *Project) ReadManifests() error {
	crds, crdErr := readCRDs(p.Dir)
	grants, rbacErr := readGrants(p.Dir)
	policies, policyErr := ReadFolder(p.Dir, PolicyFolder)
	samples, sampleErr := ReadFolder(p.Dir, SampleFolder)
	if err := errors.Join(crdErr, rbacErr, policyErr, sampleErr); err != nil {
		return err
	}
	if len(crds) == 0 && len(grants) == 0 {
		return fmt.Errorf("%s is not an operator project: it has neither CustomResourceDefinitions in %s nor Roles in %s; generate them with `operon generate`, or name another directory", p.Dir, CRDFolder, RBACFolder)
	}
	p.CRDs, p.Grants, p.Policies, p.Samples = crds, grants, PoliciesOf(policies), samples
	return nil
}

func mustBeFolder(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s does not exist; name the directory of an operator project", dir)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file; name the directory of an operator project", dir)
	}
	return nil
}

// NameOf returns the name of the operator in dir, and the directory's absolute path, like Read, but reads nothing else. This
// works for projects whose manifests are invalid.
func NameOf(dir string) (name, absolute string, err error) {
	if err := mustBeFolder(dir); err != nil {
		return "", "", err
	}
	if absolute, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	module, err := readModule(absolute)
	if err != nil {
		return "", "", err
	}
	layout, err := ReadLayout(absolute)
	if err != nil {
		return "", "", err
	}
	name, err = readName(absolute, layout, module.Path)
	return name, absolute, err
}
