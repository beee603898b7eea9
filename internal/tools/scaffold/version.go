package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Version adds a version to the API of a kind. The operator itself converts objects.
//
// One version is the hub: it is stored, the composer uses it, and all others are converted to and from it. The new version
// becomes the hub if Storage is set, and then the stored objects are migrated.
type Version struct {
	// Dir is the project's directory.
	Dir string
	// Group and Kind name one of the project's kinds. Group may be empty if Kind is unambiguous.
	Group, Kind string
	// From is the version to start from. The default is the hub. Version is the new version.
	From, Version string
	// Storage makes the new version the hub.
	Storage bool
}

// versions is the data for the templates and edits of a new version.
type versions struct {
	Version
	// Hub and Spoke are the versions that are converted: the new one and the previous hub, in either role.
	Hub, Spoke string
	// HubPackage and SpokePackage are their import paths.
	HubPackage, SpokePackage string
	Letter, Var, CRDs        string
	Conversion               string

	// hub is the previous hub, from is the version that is copied, and others are versions that were converted to the previous
	// hub.
	hub, from project.Kind
	others    []project.Kind
	// folder is the directory of the new version. If joins is set, it contains other kinds already.
	folder string
	joins  bool

	types  map[string]ast.Expr // of the package to start from
	copied map[string]bool     // names from that package that the new version has
}

// Plan plans the files to create and change for the version.
func (v Version) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	t, err := readTree(v.Dir)
	if err != nil {
		return nil, err
	}
	n, err := v.about(t)
	if err != nil {
		return nil, err
	}
	p := newPlan(t.dir)
	for _, step := range []func(*tree, *versions) error{p.copyTypes, p.convert, p.serve} {
		if err := step(t, n); err != nil {
			return nil, err
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	where := ", and the conversion there"
	if n.Storage {
		where = ", and the conversion in " + n.hub.Folder
	}
	p.Next = []string{"edit the types in " + n.folder + where, "operon generate", "go test ./...", "operon up"}
	return p, p.generated(ctx, tell)
}

// about checks the wanted version against the project.
func (v Version) about(t *tree) (*versions, error) {
	if err := CheckVersion(v.Version); err != nil {
		return nil, err
	}
	all, hub, err := t.versionsOf(v.Group, v.Kind)
	if err != nil {
		return nil, err
	}
	n := &versions{Version: v, hub: hub, from: hub, copied: map[string]bool{}, CRDs: project.CRDFolder}
	for _, kind := range all {
		if kind.Version == v.Version {
			return nil, fmt.Errorf("kind %s already has version %s (%s): choose another one", v.Kind, v.Version, kind.Place())
		}
		if kind.Version == v.From {
			n.from = kind
		}
		if kind.Version != hub.Version {
			n.others = append(n.others, kind)
		}
	}
	if v.From != "" && n.from.Version != v.From {
		return nil, fmt.Errorf("kind %s has no version %s to start from: it has %s", v.Kind, v.From, strings.Join(names(all), ", "))
	}
	if v.Storage && n.from.Version != hub.Version {
		return nil, fmt.Errorf("with --storage, the new version is copied from the storage version, %s, because all other versions will be converted to it: remove --from", hub.Version)
	}
	n.folder, n.joins = t.folderFor(hub.Group, v.Version)
	n.Hub, n.Spoke = hub.Version, v.Version
	if v.Storage {
		n.Hub, n.Spoke = n.Spoke, n.Hub
	}
	hubFolder, spokeFolder := n.folders()
	n.HubPackage, n.SpokePackage = t.module+"/"+hubFolder, t.module+"/"+spokeFolder
	n.Letter, n.Var = letterOf(v.Kind), lowerCamel(v.Kind)
	return n, n.noCycle(t, hubFolder)
}

// noCycle returns an error if a conversion would make two packages import each other: all kinds of a package must be
// converted in the same direction.
func (n *versions) noCycle(t *tree, hubFolder string) error {
	advice := "give --storage, so that " + n.Version.Version + " is the hub of " + n.Kind + ", too"
	if n.Storage {
		advice = "leave out --storage, so that " + n.hub.Version + " stays the hub of " + n.Kind
	}
	if hubFolder == n.folder && !n.joins {
		return nil // the package does not exist yet
	}
	var cycle error
	return errors.Join(eachSource(t.place(hubFolder), func(name string, content []byte) error {
		s, err := parseSource(hubFolder+"/"+filepath.Base(name), content)
		if err != nil {
			return project.NotCompiling(t.dir, err)
		}
		if s.importOf(n.SpokePackage) != "" {
			cycle = fmt.Errorf("%s imports %s, because another kind is converted from there, and Go packages cannot import each other: %s", s.name, n.SpokePackage, advice)
		}
		return nil
	}), cycle)
}

// folders returns the directories of the hub and of the spoke.
func (n *versions) folders() (hub, spoke string) {
	if n.Storage {
		return n.folder, n.hub.Folder
	}
	return n.hub.Folder, n.folder
}

func names(kinds []project.Kind) []string {
	var all []string
	for _, kind := range kinds {
		all = append(all, kind.Version)
	}
	return all
}

// versionsOf returns all versions of a kind, and the hub: the version that is marked as stored, or the only one.
func (t *tree) versionsOf(group, kind string) (all []project.Kind, hub project.Kind, err error) {
	group = t.complete(group)
	for _, k := range t.kinds {
		if k.Name == kind && (group == "" || k.Group == group) {
			all = append(all, k)
		}
	}
	if len(all) < 2 || slices.ContainsFunc(all, func(k project.Kind) bool { return k.Group != all[0].Group }) {
		hub, err = t.find(group, "", kind)
		return all, hub, err
	}
	for _, k := range all {
		if k.Has("kubebuilder:storageversion") {
			return all, k, nil
		}
	}
	return nil, hub, fmt.Errorf("kind %s has several versions and none of them has the marker +kubebuilder:storageversion: write it above the one that is stored", kind)
}

// convert plans the hub's method and the spoke's conversion.
func (p *Plan) convert(t *tree, n *versions) error {
	hub, spoke := n.folders()
	file := strings.ToLower(n.Kind) + "_conversion.go"
	old, err := p.hubMethod(n)
	if err != nil {
		return err
	}
	if n.Storage || old == "" {
		err = p.fill(hub+"/"+file, "hub.go", n)
	}
	n.Conversion = n.conversion()
	if n.from.Version == n.hub.Version {
		err = errors.Join(err, p.fill(spoke+"/"+file, "spoke.go", n))
	} else {
		err = errors.Join(err, p.copyConversion(n, n.from.Folder+"/"+file, spoke+"/"+file))
	}
	err = errors.Join(err, p.fill(strings.ToLower(n.Kind)+"_"+n.Spoke+"_test.go", "conversion_test.go", n))
	if n.Storage && old != "" { // the conversion of the version replaces it
		p.write(old, p.files[old].content)
	}
	return err
}

// hubMethod returns the file with the method Hub of the current hub, or "" if there is none.
func (p *Plan) hubMethod(n *versions) (string, error) {
	d, err := p.declarationsIn(n.hub.Folder, n.hub.File)
	if err != nil {
		return "", err
	}
	want := n.hub.Folder + "/" + strings.ToLower(n.Kind) + "_conversion.go"
	for _, one := range d.all {
		if one.of != n.Kind || one.names[0] != "Hub" {
			continue
		}
		if n.Storage && (one.in.name != want || len(one.in.tree.Decls) > 1) {
			return "", fmt.Errorf("%s has the method Hub of %s, which is not the hub any more: put it alone into %s, where the conversion comes in its place", one.in.name, n.Kind, want)
		}
		return one.in.name, nil
	}
	return "", nil
}

// copyConversion plans the conversion of a version whose types are copied from another spoke.
func (p *Plan) copyConversion(n *versions, from, to string) error {
	content, err := p.read(from)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s, which would be copied: the conversion of version %s must exist", from, n.From)
	}
	if err != nil {
		return err
	}
	s, err := parseSource(to, content)
	if err != nil {
		return project.NotCompiling(p.dir, err)
	}
	s.replace(s.tree.Name, n.Version.Version)
	s.renameInComments(n.From, n.Version.Version)
	content, err = s.done()
	p.create(to, content)
	return err
}
