package scaffold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/internal/tools/project"
)

// FromAnsible describes a project of an operator without Go code to create for an Ansible role.
type FromAnsible struct {
	// Dir is the directory of the project. It need not exist.
	Dir string
	// Domain completes a Group without a dot. The default is example.com.
	Domain string
	// Group, Version and Kind are the API group, version and kind of the custom resources. The defaults are apps, v1alpha1, and the name of
	// the directory without -operator.
	Group, Version, Kind string
	// CI adds workflows that test and release the project.
	CI bool
}

// Plan plans the files of the new project.
func (o FromAnsible) Plan(context.Context, func(string)) (*Plan, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, project.WatchesFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has a %s already: `operon create api` adds a kind to it", o.Dir, project.WatchesFile)
	}
	named := &FromChart{Dir: dir, Domain: o.Domain, Group: cmp.Or(o.Group, "apps"), Version: o.Version, Kind: o.Kind}
	kind, err := named.complete(strings.TrimSuffix(filepath.Base(dir), "-operator"))
	if err != nil {
		return nil, err
	}
	p := newPlan(dir)
	name := project.Label(filepath.Base(dir))
	p.create(project.WatchesFile, []byte("# The kinds of the operator, and the role or playbook that runs for each object.\n"))
	if err := p.fill(rolesFile, "rolerbac.yaml", map[string]string{"Name": name}); err != nil {
		return nil, err
	}
	a := API{Dir: dir, Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Plural: project.Plural(kind.Kind)}
	if err := p.addRole(a); err != nil {
		return nil, err
	}
	if err := p.fill("README.md", "roleproject.md", map[string]string{"Name": name, "Kind": kind.Kind}); err != nil {
		return nil, err
	}
	if o.CI {
		err = p.addWorkflows(name, true)
	}
	if err != nil {
		return nil, err
	}
	p.Next = []string{"operon up"}
	return p, p.check()
}

// rolesFile is the file with the permissions of a new project.
const rolesFile = project.RBACFolder + "/role.yaml"

// Comments of Operator SDK's projects that mark where entries are added.
const (
	ruleMark       = "# +kubebuilder:scaffold:rules"
	watchMark      = "# +kubebuilder:scaffold:watch"
	definitionMark = "# +kubebuilder:scaffold:crdkustomizeresource"
	sampleMark     = "# +kubebuilder:scaffold:manifestskustomizesamples"
)

// planRole plans a kind of a project of Ansible roles.
func (a API) planRole() (*Plan, error) {
	if a.NoController {
		return nil, errors.New("--controller=false is for projects with Go sources: an operator without Go runs a role for each kind")
	}
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return nil, err
	}
	a.Dir = dir
	if err := a.completeRole(); err != nil {
		return nil, err
	}
	p := newPlan(dir)
	if err := p.addRole(a); err != nil {
		return nil, err
	}
	p.Next = []string{"operon up"}
	return p, p.check()
}

// watched is an entry of watches.yaml.
type watched struct{ Group, Version, Kind, Chart string }

// completeRole sets the defaults, and checks everything against watches.yaml.
func (a *API) completeRole() error {
	content, err := os.ReadFile(filepath.Join(a.Dir, project.WatchesFile))
	if err != nil {
		return err
	}
	var watches []watched
	if err := yaml.Unmarshal(content, &watches); err != nil {
		return fmt.Errorf("%s: want a list of entries with group, version and kind: %w", project.WatchesFile, err)
	}
	domain, charts := DefaultDomain, 0
	for i, one := range watches {
		if _, rest, ok := strings.Cut(one.Group, "."); ok && i == 0 {
			domain = rest
		}
		if one.Chart != "" {
			charts++
		}
	}
	if charts > 0 && charts == len(watches) {
		return fmt.Errorf("this is a project of Helm charts: add an entry with the chart to %s, and run `operon generate`", project.WatchesFile)
	}
	if !strings.Contains(a.Group, ".") {
		a.Group += "." + domain
	}
	a.Plural = cmp.Or(a.Plural, project.Plural(a.Kind))
	for _, err := range []error{CheckGroup(a.Group), CheckVersion(a.Version), CheckKind(a.Kind), checkPlural(a.Plural), checkShortName(a.ShortName)} {
		if err != nil {
			return err
		}
	}
	for _, one := range watches {
		if one.Group == a.Group && one.Kind == a.Kind {
			return fmt.Errorf("kind %s of %s already exists (%s): choose another name", a.Kind, a.Group, project.WatchesFile)
		}
	}
	return nil
}

// role is the data for the templates of a kind of a role.
type role struct {
	API
	// Role is the name of the role, and Watch the field of watches.yaml with what runs.
	Role, Watch string
}

// addRole plans the files of a kind and of its role, and adds them to those that list all kinds.
func (p *Plan) addRole(a API) error {
	name := strings.ToLower(a.Kind)
	of := role{a, name, "role: " + name}
	if a.Playbook {
		of.Watch = "playbook: playbooks/" + name + ".yml"
	}
	definition := path.Join(project.CRDFolder, a.Group+"_"+a.Plural+".yaml")
	sample := path.Join(project.SampleFolder, name+".yaml")
	if _, err := os.Stat(p.place(project.CRDFolder + "/bases")); err == nil {
		definition = path.Join(project.CRDFolder, "bases", a.Group+"_"+a.Plural+".yaml")
		group, _, _ := strings.Cut(a.Group, ".")
		sample = path.Join(project.SampleFolder, group+"_"+a.Version+"_"+name+".yaml")
	}
	for _, file := range []struct{ path, template string }{
		{definition, "rolecrd.yaml"}, {sample, "rolesample.yaml"},
		{"roles/" + name + "/tasks/main.yml", "roletasks.yml"}, {"roles/" + name + "/defaults/main.yml", "roledefaults.yml"},
	} {
		if err := p.fill(file.path, file.template, of); err != nil {
			return err
		}
	}
	if a.Playbook {
		if err := p.fill("playbooks/"+name+".yml", "roleplaybook.yml", of); err != nil {
			return err
		}
	}
	inFolder := func(file string) string { // relative to config/crd or config/samples
		_, below, _ := strings.Cut(strings.TrimPrefix(file, "config/"), "/")
		return below
	}
	return errors.Join(
		p.list(project.WatchesFile, watchMark, "rolewatch.yaml", of, true),
		p.list(p.rules(), ruleMark, "rolerules.yaml", of, false),
		p.listResource(project.CRDFolder, definitionMark, inFolder(definition)),
		p.listResource(project.SampleFolder, sampleMark, inFolder(sample)),
	)
}

// rules returns the file with the permissions of the operator: the one that has the mark.
func (p *Plan) rules() string {
	files, err := glob.In(p.place(project.RBACFolder), "*.yaml")
	if err != nil {
		return rolesFile // which cannot be read either, and is reported then
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), ruleMark) {
			return path.Join(project.RBACFolder, filepath.Base(file))
		}
	}
	return rolesFile
}

// list adds an entry from a template to a file, before the line with the mark. Without a mark, the entry becomes the end of the file, if
// atEnd is set.
func (p *Plan) list(file, mark, template string, about any, atEnd bool) error {
	content, err := p.read(file)
	if err != nil {
		return err
	}
	entry, err := filled(template, about)
	if err != nil {
		return err
	}
	text, marked := insert(string(content), mark, string(entry))
	if !marked && !atEnd {
		return fmt.Errorf("%s has no line %q, before which to add the rules of the kind: add the line at the end of the rules of the operator's ClusterRole", file, mark)
	}
	if !marked {
		text = strings.TrimRight(string(content), "\n") + "\n" + string(entry)
	}
	p.change(file, []byte(text))
	return nil
}

// listResource adds a file to the kustomization of a directory, if it has one with a mark.
func (p *Plan) listResource(folder, mark, resource string) error {
	name := path.Join(folder, "kustomization.yaml")
	content, err := p.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if text, marked := insert(string(content), mark, "- "+resource+"\n"); marked {
		p.write(name, []byte(text))
	}
	return nil
}

// insert adds an entry before the line with a mark.
func insert(text, mark, entry string) (string, bool) {
	at := strings.Index(text, mark)
	if at < 0 {
		return text, false
	}
	start := strings.LastIndex(text[:at], "\n") + 1
	return text[:start] + entry + text[start:], true
}
