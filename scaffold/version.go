package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/project"
)

// Version is a further version of the API of a kind. Objects are converted by the operator itself.
//
// One version is the hub: it is stored, it is what the composer works by, and all others are converted to
// and from it. The new one becomes that if Storage is set, and the stored objects are migrated then.
type Version struct {
	// Dir is the project's folder.
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
	// Hub and Spoke are the versions that are converted: the new one and the one that it is made
	// from, whichever is which.
	Hub, Spoke string
	// HubPackage and SpokePackage are their import paths, folders those of all versions.
	HubPackage, SpokePackage string
	Letter, Var, CRDs        string
	Conversion               string

	from   project.Kind
	folder string
	// others are versions that were converted to the hub before.
	others []project.Kind
	hub    project.Kind
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
	for _, step := range []func(*tree, versions) error{p.copyTypes, p.convert, p.serve} {
		if err := step(t, n); err != nil {
			return nil, err
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.Next = []string{
		"edit " + n.folder + ", and the conversion in " + path.Dir(n.folder) + "/" + n.Spoke,
		"operon generate", "go test ./...", "operon up",
	}
	return p, p.generated(ctx, tell)
}

// about checks what is wanted against the project.
func (v Version) about(t *tree) (versions, error) {
	n := versions{Version: v}
	if err := CheckVersion(v.Version); err != nil {
		return n, err
	}
	all, hub, err := t.versionsOf(v.Group, v.Kind)
	if err != nil {
		return n, err
	}
	n.hub, n.from = hub, hub
	for _, kind := range all {
		if kind.Version == v.Version {
			return n, fmt.Errorf("kind %s has version %s already (%s): choose another one", v.Kind, v.Version, kind.Place())
		}
		if kind.Version == v.From {
			n.from = kind
		}
		if kind.Version != hub.Version {
			n.others = append(n.others, kind)
		}
	}
	if v.From != "" && n.from.Version != v.From {
		return n, fmt.Errorf("kind %s has no version %s to start from: it has %s", v.Kind, v.From, strings.Join(names(all), ", "))
	}
	if v.Storage && len(n.others) > 0 {
		return n, fmt.Errorf("kind %s has several versions, which are all converted to %s: make %s without --storage, and move the hub by hand when the others are gone", v.Kind, hub.Version, v.Version)
	}
	folder, exists := t.folderFor(hub.Group, v.Version)
	if exists {
		return n, fmt.Errorf("%s has other kinds in it already: make %s there with `operon create api --no-controller` in a project of its own and move it over, or choose another version", folder, v.Kind)
	}
	n.folder, n.Hub, n.Spoke = folder, hub.Version, v.Version
	hubFolder, spokeFolder := hub.Folder, folder
	if v.Storage {
		n.Hub, n.Spoke, hubFolder, spokeFolder = n.Spoke, n.Hub, spokeFolder, hubFolder
	}
	n.HubPackage, n.SpokePackage = t.module+"/"+hubFolder, t.module+"/"+spokeFolder
	n.Letter, n.Var = letterOf(v.Kind), lowerCamel(v.Kind)
	return n, nil
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

const (
	storageMarker    = "// +kubebuilder:storageversion\n"
	conversionMarker = "// +kubebuilder:metadata:annotations=\"operon.dev/conversion=operator\"\n"
)

// copyTypes plans the types of the new version: those of the one that it starts from.
func (p *Plan) copyTypes(t *tree, n versions) error {
	if err := t.aloneInFile(n.from); err != nil {
		return err
	}
	content, err := p.read(n.from.File)
	if err != nil {
		return err
	}
	created, err := otherPackage(n.from.File, content, n.Kind, n.from.Version, n.Version.Version)
	if err != nil {
		return err
	}
	old, fresh := string(content), string(created)
	stored := n.Storage || n.from.Version == n.hub.Version
	if stored {
		old, fresh = withoutMarker(old, storageMarker), withoutMarker(fresh, storageMarker)
		if n.Storage {
			fresh = n.marked(fresh, storageMarker)
		} else {
			old = n.marked(old, storageMarker)
		}
	}
	if !strings.Contains(old, conversionMarker) {
		old = n.marked(old, conversionMarker)
		fresh = n.marked(fresh, conversionMarker)
	}
	p.create(n.folder+"/"+path.Base(n.from.File), []byte(fresh))
	p.write(n.from.File, []byte(old))
	return nil
}

func withoutMarker(content, marker string) string { return strings.ReplaceAll(content, marker, "") }

// marked puts a marker above the kind.
func (n versions) marked(content, marker string) string {
	at := regexp.MustCompile(`(?m)^type ` + n.Kind + ` struct \{$`)
	return at.ReplaceAllStringFunc(content, func(line string) string { return marker + line })
}

// aloneInFile tells whether the file of a kind has all of its package that the new version needs.
func (t *tree) aloneInFile(kind project.Kind) error {
	declared, err := t.declared(kind.Folder)
	if err != nil {
		return err
	}
	for _, name := range []string{kind.Name, kind.Name + "Spec", kind.Name + "Status", kind.Name + "List", "GroupVersion", "AddToScheme"} {
		if where := declared[name]; where != "" && where != kind.File {
			return fmt.Errorf("%s is declared in %s, and kind %s in %s: a version is made from one file that has all of a kind; move it there", name, where, kind.Name, kind.File)
		}
	}
	return nil
}

// otherPackage is a source of the package of another version.
func otherPackage(name string, content []byte, kind, from, to string) ([]byte, error) {
	s, err := parseSource(name, content)
	if err != nil {
		return nil, err
	}
	s.replace(s.tree.Name, to)
	if s.tree.Doc != nil {
		for _, comment := range s.tree.Doc.List {
			s.replace(comment, regexp.MustCompile(`\b`+from+`\b`).ReplaceAllString(comment.Text, to))
		}
	}
	if call := s.call("scheme", "AddKnownTypes"); call != nil && len(call.Args) > 1 { // other kinds stay where they are
		s.edits = append(s.edits, edit{s.offset(call.Args[1].Pos()), s.offset(call.Rparen), "&" + kind + "{}, &" + kind + "List{}"})
	}
	ast.Inspect(s.tree, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Value == strconv.Quote(from) {
			s.replace(literal, strconv.Quote(to))
		}
		return true
	})
	return s.done()
}

// convert plans the hub's method and the spoke's conversion.
func (p *Plan) convert(t *tree, n versions) error {
	lower := strings.ToLower(n.Kind)
	body, err := n.conversion(p)
	if err != nil {
		return err
	}
	n.Conversion = body
	hub, spoke := path.Dir(n.folder)+"/"+n.Hub, path.Dir(n.folder)+"/"+n.Spoke
	if n.Storage || len(n.others) == 0 {
		err = p.fill(hub+"/"+lower+"_conversion.go", "hub.go", n)
	}
	n.CRDs = project.CRDFolder
	return errors.Join(err,
		p.fill(spoke+"/"+lower+"_conversion.go", "spoke.go", n),
		p.fill(lower+"_"+n.Spoke+"_test.go", "conversion_test.go", n))
}

// serve plans the new version's line in main.go, and lets the composer work by the hub.
func (p *Plan) serve(t *tree, n versions) error {
	if err := p.servedInMain(t, n); err != nil || !n.Storage {
		return err
	}
	methods, err := t.methods(n.Kind)
	if err != nil {
		return err
	}
	if methods["Compose"] == "" {
		return nil
	}
	lower := strings.ToLower(n.Kind)
	files := map[string]bool{lower + "_test.go": true, lower + "_webhook_test.go": true}
	for _, file := range methods {
		files[file] = true
	}
	for file := range files {
		if err := p.moved(t, n, file); err != nil {
			return err
		}
	}
	sample := project.SampleFolder + "/" + lower + ".yaml"
	content, err := p.read(sample)
	if err != nil {
		return nil //nolint:nilerr // there need not be one
	}
	p.write(sample, []byte(strings.Replace(string(content), "apiVersion: "+n.hub.Group+"/"+n.hub.Version+"\n", "apiVersion: "+n.hub.Group+"/"+n.Hub+"\n", 1)))
	return nil
}

// servedInMain adds the version's kinds to operon.Main, and the migration of what is stored.
func (p *Plan) servedInMain(t *tree, n versions) error {
	s := t.main
	framework := s.importOf(Framework)
	call := s.call(framework, "Main")
	if call == nil {
		return fmt.Errorf("%s does not call operon.Main with a list of parts, so that the version cannot be added to it; nothing was written: "+
			"list them there as `operon init` and `operon create api` do", s.name)
	}
	label, _, _ := strings.Cut(n.hub.Group, ".")
	importPath := t.module + "/" + n.folder
	if s.importOf(importPath) == "" || !mentions(call, s.importOf(importPath), "AddToScheme") {
		s.addArguments(call, true, framework+".API("+s.addImport(importPath, t.module, strings.ReplaceAll(label, "-", ""))+".AddToScheme)")
	}
	if n.Storage {
		for _, argument := range call.Args {
			if manage, ok := argument.(*ast.CallExpr); ok && isName(manage.Fun, framework, "Manage") && managed(manage) == n.Kind && !mentions(manage, framework, "MigrateStorage") {
				s.addArguments(manage, false, framework+".MigrateStorage()")
			}
		}
	}
	content, err := s.done()
	if err == nil {
		p.write(s.name, content)
	}
	return err
}

// managed is the type of the composer in a call of operon.Manage.
func managed(call *ast.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	if literal, ok := call.Args[0].(*ast.CompositeLit); ok {
		if name, ok := literal.Type.(*ast.Ident); ok {
			return name.Name
		}
	}
	return ""
}

// moved lets a source work by the hub in the place of the version that was it before.
func (p *Plan) moved(t *tree, n versions, file string) error {
	content, err := p.read(file)
	if err != nil {
		return nil //nolint:nilerr // there need not be one
	}
	s, err := parseSource(file, content)
	if err != nil {
		return err
	}
	old := s.importOf(n.SpokePackage)
	if old == "" || s.importOf(n.HubPackage) != "" {
		return nil
	}
	for _, spec := range s.tree.Imports {
		if spec.Path.Value == strconv.Quote(n.SpokePackage) {
			s.replace(spec.Path, strconv.Quote(n.HubPackage))
		}
	}
	name := old
	if old == filepath.Base(n.SpokePackage) {
		name = filepath.Base(n.HubPackage)
	}
	ast.Inspect(s.tree, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == old {
				s.replace(x, name)
			}
		}
		return true
	})
	moved, err := s.done()
	if err == nil {
		p.write(file, moved)
	}
	return err
}
