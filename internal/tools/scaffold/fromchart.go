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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/tools/generate/chartkind"
	"github.com/operon-framework/operon/internal/tools/project"
)

// FromChart describes a project of an operator without Go code to create from a Helm chart.
type FromChart struct {
	// Dir is the directory of the project. It need not exist.
	Dir string
	// Chart is the directory or the archive of the chart, which is copied.
	Chart string
	// Domain completes a Group without a dot. The default is example.com.
	Domain string
	// Group, Version and Kind are the API group, version and kind of the custom resources. The defaults are charts, v1alpha1, and the
	// chart's name.
	Group, Version, Kind string
	// CI adds workflows that test and release the project.
	CI bool
}

// Plan plans the files of the new project. tell receives lines about the progress.
func (o FromChart) Plan(ctx context.Context, tell func(string)) (*Plan, error) {
	chart, err := helm.Load(o.Chart)
	if err != nil {
		return nil, err
	}
	kind, err := o.complete(chart.Name())
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, project.WatchesFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has a %s already: name another directory", o.Dir, project.WatchesFile)
	}
	p := newPlan(o.Dir)
	folder := "helm-charts/" + chart.Name()
	for name, content := range chart.Files() {
		p.create(path.Join(folder, name), content)
	}
	p.create(project.WatchesFile, fmt.Appendf(nil, "- group: %s\n  version: %s\n  kind: %s\n  chart: %s\n", kind.Group, kind.Version, kind.Kind, folder))
	tell("rendering the chart to find the permissions that it needs")
	name := project.Label(filepath.Base(o.Dir))
	if err := p.addManifests(ctx, chart, name, kind); err != nil {
		return nil, err
	}
	if o.CI {
		err = p.addWorkflows(name, false)
	}
	if err != nil {
		return nil, err
	}
	p.Next = []string{"operon up"}
	return p, p.check()
}

// addWorkflows plans the workflows of an operator without Go code. They install the release of this command, or the latest one if it is
// none. What runs roles is made of the packages of the machine that runs the workflow.
func (p *Plan) addWorkflows(name string, roles bool) error {
	release := cmp.Or(builtVersion(), "latest")
	for path, template := range workflows {
		if err := p.fill(path, template, map[string]any{"Name": name, "Release": release, "Roles": roles}); err != nil {
			return err
		}
	}
	return nil
}

// addManifests plans the manifests that are derived from the chart.
func (p *Plan) addManifests(ctx context.Context, chart *helm.Chart, name string, kind schema.GroupVersionKind) error {
	of := chartkind.Kind{GroupVersionKind: kind, Chart: chart}
	definition, err := chartkind.CRD(of)
	if err != nil {
		return err
	}
	roles, err := chartkind.Roles(ctx, name, of)
	if err != nil {
		return err
	}
	lower := strings.ToLower(kind.Kind)
	sample, err := sampleOf(chart, kind, lower)
	if err != nil {
		return err
	}
	p.create(path.Join(project.CRDFolder, kind.Group+"_"+project.Plural(kind.Kind)+".yaml"), definition)
	p.create(path.Join(project.RBACFolder, chartkind.RoleFile), roles)
	p.create(path.Join(project.SampleFolder, lower+".yaml"), sample)
	return p.fill("README.md", "chartproject.md", map[string]string{"Name": name, "Chart": chart.Name(), "Kind": kind.Kind, "Sample": lower})
}

// sampleOf returns a custom resource with the values of the chart, including their comments.
func sampleOf(chart *helm.Chart, kind schema.GroupVersionKind, name string) ([]byte, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s-sample\nspec:", kind.GroupVersion(), kind.Kind, name)
	values, written := chart.Values()
	if len(values) == 0 {
		text.WriteString(" {}\n")
		return []byte(text.String()), nil
	}
	fmt.Fprintf(&text, "\n  # The values of the chart. Leave out those that you do not change.\n")
	for line := range strings.Lines(string(written)) {
		if strings.TrimRight(line, " \t\r\n") == "---" { // begins a document; an indented one is text
			continue
		}
		if strings.Trim(line, "\r\n") != "" {
			text.WriteString("  ")
		}
		text.WriteString(line)
	}
	if err := yaml.Unmarshal([]byte(text.String()), &struct{}{}); err != nil {
		return nil, fmt.Errorf("values.yaml of the chart %s cannot be indented: %w", chart.Name(), err)
	}
	return []byte(text.String()), nil
}

// complete sets the defaults, and checks everything.
func (o *FromChart) complete(chart string) (schema.GroupVersionKind, error) {
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return schema.GroupVersionKind{}, err
	}
	for _, part := range []struct {
		value *string
		by    string
		check func(string) error
	}{
		{&o.Domain, DefaultDomain, CheckDomain}, {&o.Group, "charts", nil}, {&o.Version, "v1alpha1", CheckVersion}, {&o.Kind, kindOf(chart), CheckKind},
	} {
		if *part.value == "" {
			*part.value = part.by
		}
		if part.check == nil {
			continue
		}
		if err := part.check(*part.value); err != nil {
			return schema.GroupVersionKind{}, err
		}
	}
	if !strings.Contains(o.Group, ".") {
		o.Group += "." + o.Domain
	}
	if err := CheckGroup(o.Group); err != nil {
		return schema.GroupVersionKind{}, err
	}
	if project.Label(filepath.Base(o.Dir)) == "" {
		return schema.GroupVersionKind{}, fmt.Errorf("the directory name %q has no letter or digit for a name of the operator: choose another name", filepath.Base(o.Dir))
	}
	return schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}, nil
}

// kindOf converts the name of a chart to the name of a kind: my-till becomes MyTill.
func kindOf(chart string) string {
	var kind strings.Builder
	for word := range strings.FieldsFuncSeq(chart, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		kind.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return kind.String()
}
