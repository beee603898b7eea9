package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Version is a further version of the API of a kind. Objects are converted by the operator itself.
//
// One version is the hub: it is stored, it is what the composer works by, and all others are converted to
// and from it. The new one becomes that if Storage is set, and the stored objects are migrated then.
type Version struct {
	// Dir is the project's directory.
	Dir string
	// Group and Kind name one of the project's kinds. Group may be left out where the kind alone tells.
	Group, Kind string
	// From is the version to start from: the hub unless it is given. Version is the new one.
	From, Version string
	// Storage makes the new version the hub.
	Storage bool
}

// versions are what the templates and edits of a new version know.
type versions struct {
	Version
	// Hub and Spoke are the versions that are converted: the new one and the one that was the hub
	// before, whichever is which.
	Hub, Spoke string
	// HubPackage and SpokePackage are their import paths.
	HubPackage, SpokePackage string
	Letter, Var, CRDs        string
	Conversion               string

	// hub is what was the hub before, from what is copied, and others are versions that were
	// converted to the hub before.
	hub, from project.Kind
	others    []project.Kind
	// folder is that of the new version. It joins other kinds there.
	folder string
	joins  bool

	types  map[string]ast.Expr // of the package that it starts from
	copied map[string]bool     // names that the new version has of it
}

// Plan works out what is created and changed for the version.
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

// about checks what is wanted against the project.
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
			return nil, fmt.Errorf("kind %s has version %s already (%s): choose another one", v.Kind, v.Version, kind.Place())
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
		return nil, fmt.Errorf("with --storage, a version starts from the one that is stored, which is %s: the other versions are converted to it, and to the new one then; leave out --from", hub.Version)
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

// noCycle tells where a conversion would let two packages import each other: kinds of a package are converted
// in one direction.
func (n *versions) noCycle(t *tree, hubFolder string) error {
	advice := "give --storage, so that " + n.Version.Version + " is the hub of " + n.Kind + ", too"
	if n.Storage {
		advice = "leave out --storage, so that " + n.hub.Version + " stays the hub of " + n.Kind
	}
	if hubFolder == n.folder && !n.joins {
		return nil // it does not exist yet
	}
	var cycle error
	return errors.Join(eachSource(t.place(hubFolder), func(name string, content []byte) error {
		s, err := parseSource(hubFolder+"/"+filepath.Base(name), content)
		if err != nil {
			return project.NotCompiling(t.dir, err)
		}
		if s.importOf(n.SpokePackage) != "" {
			cycle = fmt.Errorf("%s imports %s, as another kind is converted from there, and packages of Go cannot import each other: %s", s.name, n.SpokePackage, advice)
		}
		return nil
	}), cycle)
}

// directories are those of the hub and of the spoke.
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

// versionsOf are all versions of a kind, and the one that is the hub: that which has the method Hub, which
// is stored, or which is the only one.
func (t *tree) versionsOf(group, kind string) (all []project.Kind, hub project.Kind, err error) {
	group = t.complete(group)
	for _, k := range t.kinds {
		if k.Name == kind && (group == "" || k.Group == group) {
			all = append(all, k)
		}
	}
	if len(all) < 2 {
		hub, err = t.find(group, "", kind)
		return all, hub, err
	}
	for _, k := range all {
		if k.Has("kubebuilder:storageversion") {
			return all, k, nil
		}
		if k.Group != all[0].Group {
			_, err = t.find(group, "", kind)
			return nil, hub, err
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
	if n.Storage && old != "" { // in its place stands how the version is converted now
		p.write(old, p.files[old].content)
	}
	return err
}

// hubMethod is the file that has the method Hub of what is the hub now, "" for none.
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

// copyConversion plans the conversion of a version whose types are those of another one that is converted.
func (p *Plan) copyConversion(n *versions, from, to string) error {
	content, err := p.read(from)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s, which would be copied: the conversion of version %s has to be there", from, n.From)
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
