package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/generate/chartkind"
	"github.com/operon-framework/operon/internal/tools/project"
)

// generateWithoutGo plans the manifests of an operator that runs watches.yaml: the manifests that are derived from its charts, and the
// requested outputs. A manifest without chartkind.Mark is the author's own, and is not changed.
func (p *planning) generateWithoutGo(ctx context.Context) error {
	outputs, err := p.outputsWithoutGo()
	if err != nil {
		return err
	}
	name, _, err := project.NameOf(p.dir)
	if err != nil {
		return err
	}
	p.tell("rendering charts to find the permissions that they need")
	files, kept, err := chartkind.Files(ctx, p.dir, project.Label(name))
	if err != nil {
		return err
	}
	for name, content := range files {
		p.result.Changes.Write(name, content)
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

// outputsWithoutGo returns the requested outputs. It rejects flags for outputs that are derived from Go types.
func (p *planning) outputsWithoutGo() (*Outputs, error) {
	settings, err := parseSettings(p.options.Flags...)
	if err != nil {
		return nil, err
	}
	because := fmt.Sprintf("it is for Go types, and %s has a %s instead", p.dir, project.WatchesFile)
	return &settings.Outputs, onlyOutputs(p.options.Flags, because, "clients", "go-crds")
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
