package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/accept"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// Target describes what is tested, by its files. A plan file contains it, so that the plan can be repeated.
type Target struct {
	// Dir is the directory of an operator's project. Main is the directory of its main package, relative to Dir,
	// if the project has several. Both are empty if Run states how to start the operator.
	Dir  string `json:"dir,omitempty"`
	Main string `json:"main,omitempty"`
	// Run is a shell command that starts the operator, in any language. {port} is replaced with a free port,
	// {namespace} with the namespace that is reserved for the operator.
	Run string `json:"run,omitempty"`
	// CRDs, Samples, Setup and RBAC are manifests, each a file or a directory. With Dir, the defaults are those of
	// the project.
	CRDs    string `json:"crds,omitempty"`
	Samples string `json:"samples,omitempty"`
	Setup   string `json:"setup,omitempty"`
	RBAC    string `json:"rbac,omitempty"`
	// Steps is a file of your own workloads.
	Steps string `json:"steps,omitempty"`
	// Accept is a file with the findings that are accepted: see docs/prove/properties.md.
	Accept string `json:"accept,omitempty"`
	// Namespace is the only namespace in which the operator can run.
	Namespace string `json:"namespace,omitempty"`
	// Kustomize builds an RBAC or Setup directory that has a kustomization, and returns its objects as YAML. Without it,
	// such a directory is an error.
	Kustomize func(directory string) ([]byte, error) `json:"-"`
}

// Load reads the files of the target, builds the operator into a directory if the target is a project, and returns
// the options for testing it. A build takes a while, so Load calls observe, which may be nil, before it.
func (t Target) Load(ctx context.Context, folder string, observe func(report.Standing)) (Options, error) {
	options := Options{Namespace: t.Namespace, Folder: folder, Observe: observe}
	load := t.loadProject
	if t.Run != "" {
		load = t.loadCommand
	}
	build, err := load(&options)
	if err != nil {
		return options, err
	}
	if err := t.loadFiles(&options); err != nil {
		return options, err
	}
	if len(options.Samples) == 0 {
		return options, errNoSamples
	}
	if build != nil {
		options.observe("building the operator")
		err = build(ctx)
	}
	return options, err
}

// loadProject loads an operator from its project.
func (t Target) loadProject(o *Options) (build func(context.Context) error, err error) {
	p, err := project.Read(t.Dir, project.Options{Main: t.Main})
	if err != nil {
		return nil, err
	}
	if err := process.CanBuild(p.Main.Package); err != nil {
		return nil, err
	}
	hooks, err := project.ReadFolder(p.Dir, "config/webhook")
	if err != nil {
		return nil, err
	}
	for _, hook := range hooks {
		if isWebhook(hook.Unstructured) {
			o.Webhooks = append(o.Webhooks, hook.Unstructured)
		}
	}
	binary := filepath.Join(o.Folder, "operator")
	place := project.Placing{Metrics: "127.0.0.1:{port}", Health: "127.0.0.1:{port}"}
	operator := runner.Process{Path: binary, Go: true, Dir: p.Dir, Alone: p.Flags(place)}
	place.Elect = true
	operator.Elect = p.Flags(place)
	o.Name, o.Operator, o.Grants = p.Name, operator, p.Grants
	o.CRDs, o.Samples = objects(p.CRDs), objects(p.Samples)
	return func(ctx context.Context) error { return process.Build(ctx, p.Dir, p.Main.Package, binary) }, nil
}

// loadCommand loads an operator that a command starts.
func (t Target) loadCommand(o *Options) (build func(context.Context) error, err error) {
	if t.Dir != "" {
		return nil, errors.New("a project and a command are set: use one of them")
	}
	if t.Samples == "" {
		return nil, errors.New("no samples: set --samples PATH to objects of the operator's kinds")
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	o.Name, o.Command = t.Run, []string{"/bin/sh", "-c", t.Run}
	o.Operator = runner.Process{Path: o.Command[0], Args: o.Command[1:], Dir: dir}
	return nil, nil
}

// loadFiles reads the files of the target.
func (t Target) loadFiles(o *Options) (err error) {
	if t.Accept != "" {
		if o.Accept, err = accept.Read(t.Accept); err != nil {
			return err
		}
	}
	if t.Steps != "" {
		if o.Workloads, err = workload.Read(t.Steps); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		path string
		read func(string) ([]project.Object, error)
		into *[]*unstructured.Unstructured
	}{{t.CRDs, readManifests, &o.CRDs}, {t.Samples, readManifests, &o.Samples}, {t.Setup, t.readKustomized, &o.Setup}} {
		if part.path == "" {
			continue
		}
		read, err := part.read(part.path)
		if err != nil {
			return err
		}
		*part.into = objects(read)
	}
	if t.RBAC == "" {
		return nil
	}
	read, err := t.readKustomized(t.RBAC)
	if err != nil {
		return err
	}
	o.Grants = project.GrantsOf(t.Dir, read)
	if len(o.Grants) == 0 {
		return fmt.Errorf("%s: contains no Role or ClusterRole", t.RBAC)
	}
	return nil
}

// kustomizations contains the file names that make a directory a kustomization.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// readKustomized reads a file or a directory. If the directory has a kustomization, its prefixes and patches apply.
func (t Target) readKustomized(path string) ([]project.Object, error) {
	for _, name := range kustomizations {
		file := filepath.Join(path, name)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if t.Kustomize == nil {
			return nil, fmt.Errorf("%s: run kustomize build and use its output, because nothing builds kustomizations here", file)
		}
		content, err := t.Kustomize(path)
		if err != nil {
			return nil, err
		}
		return project.Parse(file, content)
	}
	return readManifests(path)
}

// bases is the directory into which controller-gen writes definitions, relative to the directory that users specify.
const bases = "bases"

// readManifests reads a file or a directory.
func readManifests(path string) ([]project.Object, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	read := project.ReadFile
	if about.IsDir() {
		read = project.ReadFolder
	}
	found, err := read(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && filepath.Base(path) != bases {
		if _, err := os.Stat(filepath.Join(path, bases)); err == nil {
			return readManifests(filepath.Join(path, bases))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: contains no objects", path)
	}
	return found, nil
}

func objects(from []project.Object) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(from))
	for _, one := range from {
		all = append(all, one.Unstructured)
	}
	return all
}
