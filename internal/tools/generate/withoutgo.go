package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/generate/chartkind"
	"github.com/operon-framework/operon/internal/tools/project"
)

// generateWithoutGo plans the manifests of an operator that runs watches.yaml: what follows from its charts, and the outputs on
// request. A manifest without chartkind.Mark is the author's own, and stays as it is.
func (p *planning) generateWithoutGo(ctx context.Context) error {
	outputs, err := p.outputsWithoutGo()
	if err != nil {
		return err
	}
	kinds, err := chartKinds(p.dir)
	if err != nil {
		return err
	}
	p.tell("rendering charts to find the permissions that they need")
	kept, err := p.writeChartKinds(ctx, kinds)
	if err != nil {
		return err
	}
	whole, err := p.allDefinitions()
	if err != nil {
		return err
	}
	if err := outputs.write(ctx, p.dir, whole, p.result.Changes, p.note); err != nil {
		return err
	}
	if len(p.options.Flags) == 0 && len(kept) > 0 {
		p.note(fmt.Sprintf("not generated, because they have no line %q: %s", strings.TrimSpace(chartkind.Mark), strings.Join(kept, ", ")))
	}
	return p.notePowers()
}

// outputsWithoutGo returns the outputs on request, and rejects flags for what follows from Go types.
func (p *planning) outputsWithoutGo() (*Outputs, error) {
	settings, err := parseSettings(p.options.Flags...)
	if err != nil {
		return nil, err
	}
	outputs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Outputs{}).AddFlags(outputs)
	for _, flag := range p.options.Flags {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if strings.HasPrefix(flag, "--") && (outputs.Lookup(name) == nil || name == "clients" || name == "go-crds") {
			return nil, fmt.Errorf("--%s has no effect in this project: it is for Go types, and %s has a %s instead", name, p.dir, project.WatchesFile)
		}
	}
	return &settings.Outputs, nil
}

// chartKinds returns the kinds of a watches.yaml that have charts.
func chartKinds(dir string) ([]chartkind.Kind, error) {
	watches, err := engine.Read(filepath.Join(dir, project.WatchesFile), helm.Engine{})
	if err != nil {
		return nil, err
	}
	var kinds []chartkind.Kind
	for _, watch := range watches {
		place, err := watch.Path("chart")
		if err != nil {
			return nil, err
		}
		chart, err := helm.Load(place)
		if err != nil {
			return nil, watch.Errorf("chart", "%w", err)
		}
		kinds = append(kinds, chartkind.Kind{GroupVersionKind: watch.Kind, Chart: chart})
	}
	return kinds, nil
}

// writeChartKinds plans the definitions and permissions of kinds. It returns the files that stay, because they are the author's.
func (p *planning) writeChartKinds(ctx context.Context, kinds []chartkind.Kind) (kept []string, err error) {
	definitions, err := project.ReadCRDs(p.dir)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		content, err := chartkind.CRD(kind)
		if err != nil {
			return nil, err
		}
		kept = append(kept, p.writeOwn(definitionFile(definitions, kind), content)...)
	}
	roles, err := chartkind.Roles(ctx, project.Label(p.name()), kinds...)
	if err != nil {
		return nil, err
	}
	grants, err := project.ReadFolder(p.dir, project.RBACFolder)
	if err != nil {
		return nil, err
	}
	return append(kept, p.writeOwn(roleFile(p.dir, grants), roles)...), nil
}

// name returns the name of the operator.
func (p *planning) name() string {
	name, _, err := project.NameOf(p.dir)
	if err != nil { // Plan has read it already
		return filepath.Base(p.dir)
	}
	return name
}

// writeOwn plans a file unless the project has one without the mark, which it returns.
func (p *planning) writeOwn(name string, content []byte) (kept []string) {
	if there, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name))); err == nil && !bytes.HasPrefix(there, []byte(chartkind.Mark)) {
		return []string{name}
	}
	p.result.Changes.Write(name, content) // reports what else prevents reading it
	return nil
}

// definitionFile returns the file of the definition of a kind, or where to write one.
func definitionFile(definitions []project.Object, kind chartkind.Kind) string {
	name := chartkind.Plural(kind.Kind) + "." + kind.Group
	for _, one := range definitions {
		if one.GetName() == name {
			return filepath.ToSlash(one.File)
		}
	}
	return path.Join(project.CRDFolder, kind.Group+"_"+chartkind.Plural(kind.Kind)+".yaml")
}

// roleFile returns the file of the permissions that was generated, or the first one with others, or where to write one.
func roleFile(dir string, grants []project.Object) string {
	usual := path.Join(project.RBACFolder, chartkind.RoleFile)
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(usual))); err == nil || len(grants) == 0 {
		return usual
	}
	return filepath.ToSlash(grants[0].File)
}

// allDefinitions returns the definitions of the project as they will be after the changes.
func (p *planning) allDefinitions() (*changes.Set, error) {
	whole, err := changes.In(p.dir)
	if err != nil {
		return nil, err
	}
	there, err := project.ReadCRDs(p.dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, object := range there {
		content, err := os.ReadFile(filepath.Join(p.dir, object.File))
		whole.Write(object.File, content)
		errs = append(errs, err)
	}
	set := p.result.Changes
	for _, name := range slices.DeleteFunc(set.Paths(), func(name string) bool { return !strings.HasPrefix(name, project.CRDFolder+"/") }) {
		content, _ := set.Content(name)
		whole.Write(name, content)
	}
	return whole, errors.Join(errs...)
}
