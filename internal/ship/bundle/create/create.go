package create

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
)

// DefaultFolder is the directory of the bundle, relative to the project.
const DefaultFolder = "bundle"

// Options describe a bundle.
type Options struct {
	// Dir is the directory of the project, and Main that of its main package if it has several.
	Dir, Main string
	// Version is the version of the operator, a semantic version.
	Version string
	// Image is the image of the operator, preferably by digest.
	Image string
	// Package is the name of the package. Default: the operator's name, or the package of Previous.
	Package string
	// Channels are the channels that offer the version. Default: those of Previous, or "candidate" for a version below 1 and a prerelease, and else "stable".
	Channels []string
	// DefaultChannel is the default channel of the package. Default: that of Previous, or the first channel.
	DefaultChannel string
	// Previous is the directory of the bundle that this one replaces. "": it replaces none.
	Previous string
	// SkipRange is a range of older versions that can be upgraded directly, such as ">=1.0.0 <1.2.0".
	SkipRange string
	// Requires are packages that the operator needs, in the form PACKAGE=RANGE. Those of older bundles stay.
	Requires []string
	// UseImageDigests means that the tags of all images are replaced by the digests that they have in their registries.
	UseImageDigests bool
	// Out is the directory of the bundle. Default: DefaultFolder in Dir.
	Out string
	// Overwrite allows to write into a directory with files that are not of a bundle of this package made by Operon.
	Overwrite bool
}

// Result is a bundle that was made.
type Result struct {
	Name           string   `json:"name"`
	Package        string   `json:"package"`
	Dir            string   `json:"dir"`
	Channels       []string `json:"channels"`
	DefaultChannel string   `json:"defaultChannel"`
	Replaces       string   `json:"replaces,omitempty"`
	// InstallModes are those that the operator supports.
	InstallModes []bundle.InstallMode `json:"installModes"`
	Files        []string             `json:"files"`
	// Removed are the manifests of an earlier bundle in the directory that this one does not have.
	Removed []string `json:"removed,omitempty"`
	// Notes describe objects of the project that the bundle cannot have, in one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// Run writes the bundle of a project. Nothing is written if it fails.
func Run(ctx context.Context, o Options) (*Result, error) {
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := m.assemble(ctx); err != nil {
		return nil, err
	}
	files, err := m.files()
	if err != nil {
		return nil, err
	}
	return m.result, m.write(ctx, files)
}

// maker is the state of one Run.
type maker struct {
	options  Options
	project  *project.Project
	operator manifests.Operator
	// base is the ClusterServiceVersion in the project with what its objects do not say. It is empty if there is none.
	base *unstructured.Unstructured
	// hooks are the definitions of webhooks.
	hooks []any
	// csv is the ClusterServiceVersion, and objects are the manifests beside it.
	csv     *unstructured.Unstructured
	objects []*unstructured.Unstructured
	result  *Result
	// previous is the bundle that this one replaces, and existing the one in its directory. They are nil if there is none.
	previous, existing *bundle.Bundle
	// target is the directory of the bundle, absolute and without links.
	target string
}

// prepare reads the project and the previous bundle, and completes the options.
func prepare(o Options) (*maker, error) {
	if o.Version == "" {
		return nil, errors.New("--version is required, such as --version 1.2.0")
	}
	if _, err := semver.Parse(o.Version); err != nil {
		return nil, fmt.Errorf("--version %q: want a semantic version, such as 1.2.0", o.Version)
	}
	if o.Image == "" {
		return nil, errors.New("want --image IMAGE, which the pods of the operator run; name it by digest, as operon build --push prints it")
	}
	if o.SkipRange != "" {
		if _, err := semver.ParseRange(o.SkipRange); err != nil {
			return nil, fmt.Errorf("--skip-range %q: want a range of versions, such as \">=1.0.0 <1.2.0\"", o.SkipRange)
		}
	}
	for _, one := range o.Requires {
		if _, _, err := parseRequirement(one); err != nil {
			return nil, err
		}
	}
	p, err := project.Read(o.Dir, project.Options{Main: o.Main})
	if err != nil {
		return nil, err
	}
	m := &maker{options: o, project: p, result: &Result{}}
	if m.operator, err = manifests.Of(p, o.Image); err != nil {
		return nil, err
	}
	if m.base, err = readBase(p.Dir); err != nil {
		return nil, err
	}
	if !m.followsGroups() {
		if err := m.readWebhooks(); err != nil {
			return nil, err
		}
	}
	if err := m.follow(); err != nil {
		return nil, err
	}
	m.result.Package = cmp.Or(m.options.Package, m.operator.Name)
	m.result.Name = m.result.Package + ".v" + o.Version
	m.result.Channels = m.options.Channels
	if len(m.result.Channels) == 0 {
		m.result.Channels = []string{firstChannel(o.Version)}
	}
	m.result.DefaultChannel = cmp.Or(m.options.DefaultChannel, m.result.Channels[0])
	m.result.Dir = cmp.Or(o.Out, filepath.Join(o.Dir, DefaultFolder))
	if err := m.checkNames(); err != nil {
		return nil, err
	}
	return m, m.checkTarget()
}

// checkNames checks the names of the package, the bundle and the channels, which become parts of annotations, labels and objects.
func (m *maker) checkNames() error {
	var problems []error
	check := func(what, name string, wrong []string) {
		if len(wrong) > 0 {
			problems = append(problems, fmt.Errorf("%s %q: %s", what, name, strings.Join(wrong, "; ")))
		}
	}
	check("the name of the package", m.result.Package, validation.IsDNS1123Label(m.result.Package))
	for _, channel := range m.result.Channels {
		check("the channel", channel, validation.IsDNS1123Subdomain(channel))
	}
	if !slices.Contains(m.result.Channels, m.result.DefaultChannel) {
		check("the default channel", m.result.DefaultChannel, validation.IsDNS1123Subdomain(m.result.DefaultChannel))
	}
	if len(problems) == 0 {
		check("the name of the bundle", m.result.Name, validation.IsDNS1123Subdomain(m.result.Name))
	}
	return errors.Join(problems...)
}

const stable = "stable"

// firstChannel returns the channel of a version for which none is named. The names are those that the documentation of OLM recommends.
func firstChannel(version string) string {
	if parsed := semver.MustParse(version); parsed.Major == 0 || len(parsed.Pre) > 0 {
		return "candidate"
	}
	return stable
}

// follow completes the options from the bundle that the new one replaces.
func (m *maker) follow() error {
	if m.options.Previous == "" {
		return nil
	}
	previous, err := bundle.Read(m.options.Previous)
	if err != nil {
		return err
	}
	for _, problem := range previous.Problems {
		if metadata := filepath.Join(m.options.Previous, path.Dir(bundle.PropertiesFile)); strings.HasPrefix(problem.At.File, filepath.ToSlash(metadata)+"/") {
			return fmt.Errorf("--previous: %w", problem) // its channels, annotations and dependencies would be lost
		}
	}
	if previous.CSV == nil {
		return fmt.Errorf("%s has no ClusterServiceVersion: name the bundle of the version that this one replaces", m.options.Previous)
	}
	older, err := semver.Parse(previous.CSV.Spec.Version)
	if err != nil {
		return fmt.Errorf("%s: the version %q is not a semantic version", m.options.Previous, previous.CSV.Spec.Version)
	}
	if older.GTE(semver.MustParse(m.options.Version)) {
		return fmt.Errorf("--version %s is not newer than %s, the version in %s", m.options.Version, older, m.options.Previous)
	}
	m.previous, m.result.Replaces = previous, previous.CSV.Name
	m.options.Package = cmp.Or(m.options.Package, previous.Package)
	m.options.DefaultChannel = cmp.Or(m.options.DefaultChannel, previous.DefaultChannel)
	if len(m.options.Channels) == 0 {
		m.options.Channels = previous.Channels
	}
	return nil
}

// baseFolder is where Operator SDK keeps ClusterServiceVersions with descriptions, icons and links.
const baseFolder = "config/manifests/bases"

// readBase reads the ClusterServiceVersion of a project.
func readBase(dir string) (*unstructured.Unstructured, error) {
	objects, err := project.ReadFolder(dir, baseFolder)
	if err != nil {
		return nil, err
	}
	base := &unstructured.Unstructured{Object: map[string]any{}}
	for _, object := range objects {
		if object.GetKind() != "ClusterServiceVersion" {
			continue
		}
		if len(base.Object) > 0 {
			return nil, fmt.Errorf("%s: the project has another ClusterServiceVersion: keep one", object.File)
		}
		base = object.Unstructured
	}
	return base, nil
}

// assemble makes the ClusterServiceVersion and the manifests.
func (m *maker) assemble(ctx context.Context) error {
	all, err := m.installation()
	if err != nil {
		return err
	}
	s := &sorter{maker: m, identities: map[string]bool{}, permissions: map[string]*grants{}}
	if err := s.sort(all); err != nil {
		return err
	}
	m.objects = s.others
	if m.options.UseImageDigests {
		if err := m.pin(ctx, s.deployments); err != nil {
			return err
		}
	}
	return m.describe(s)
}

// files returns the files of the bundle, by their paths in it.
func (m *maker) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, object := range append([]*unstructured.Unstructured{m.csv}, m.objects...) {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		name := fileOf(object)
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("two objects would be in %s: rename one of them", name)
		}
		files[name] = content
	}
	b := bundle.Bundle{Package: m.result.Package, Channels: m.result.Channels, DefaultChannel: m.result.DefaultChannel}
	kept, err := m.keptAnnotations()
	if err != nil {
		return nil, err
	}
	for name, content := range b.Metadata(kept, m.testsFrom() != nil) {
		files[name] = content
	}
	inherited, err := m.inherited()
	maps.Copy(files, inherited)
	return files, err
}

// fileOf returns the path of a manifest, as Operator SDK names it.
func fileOf(object *unstructured.Unstructured) string {
	switch kind := strings.ToLower(object.GetKind()); kind {
	case "clusterserviceversion":
		return path.Join("manifests", strings.TrimSuffix(object.GetName(), versionOf(object))+kind+".yaml")
	case "customresourcedefinition":
		return path.Join("manifests", object.GetName()+".yaml")
	default:
		return path.Join("manifests", object.GetName()+"_"+kind+".yaml")
	}
}

// versionOf returns the part of the name of a ClusterServiceVersion that differs between versions.
func versionOf(csv *unstructured.Unstructured) string {
	version, _, _ := unstructured.NestedString(csv.Object, "spec", "version")
	return "v" + version
}
