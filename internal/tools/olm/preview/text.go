package preview

import (
	"fmt"
	"io"
	"strings"

	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// shownChanges is the number of changes of one object that text shows.
const shownChanges = 12

// Text writes the preview as text for users.
func (p *Preview) Text(out io.Writer) error {
	var page terminal.Page
	page.Lines(terminal.Line(p.headline()))
	page.Section("Problem", lines(p.Problems))
	page.Section("New rights", rights(p.NewPermissions))
	page.Section("Lost rights", rights(p.GonePermissions))
	page.Section("Images", p.images())
	page.Section("CRDs", p.definitions())
	if p.Converted != "" {
		page.Section("Converted", []string{p.Converted})
	}
	page.Section("Objects", p.objects())
	page.Section("Unknown", lines(p.Unknown))
	_, err := io.WriteString(out, terminal.Clean(page.String())) // most of it comes from bundles
	return err
}

func (p *Preview) headline() string {
	text := fmt.Sprintf("InstallPlan %s/%s", p.Namespace, p.Plan)
	switch {
	case p.Phase == olm.PlanRequiresApproval:
		text += " waits for approval: it"
	case p.Phase == "":
		text += " was not read yet: it"
	default:
		text += " is " + p.Phase + ": it"
	}
	text += " installs " + strings.Join(p.CSVs, ", ")
	if p.Replaces != "" {
		text += " and replaces " + p.Replaces
	}
	return text
}

func lines(all []string) []string {
	made := make([]string, len(all))
	for i, one := range all {
		made[i] = terminal.Line(one)
	}
	return made
}

func rights(all []olm.Right) []string { return olm.RightLines(all) }

func (p *Preview) images() []string {
	var all []string
	for _, image := range p.NewImages {
		all = append(all, "+ "+image)
	}
	for _, image := range p.GoneImages {
		all = append(all, "- "+image)
	}
	return lines(all)
}

func (p *Preview) definitions() []string {
	var all []string
	for _, one := range p.Definitions {
		all = append(all, strings.Split(strings.TrimSuffix(terminal.Clean(one.String()), "\n"), "\n")...)
	}
	return all
}

// objects lists the objects with their changes. Those that stay are only counted.
func (p *Preview) objects() []string {
	var all []string
	stay := 0
	for _, one := range p.Objects {
		if one.Action == Leave {
			stay++
			continue
		}
		all = append(all, terminal.Line(fmt.Sprintf("%s %s %s", one.Action, one.Kind, one.Name)))
		for i, change := range one.Changes {
			if i == shownChanges {
				all = append(all, fmt.Sprintf("  and %d more; -o json has all", len(one.Changes)-i))
				break
			}
			all = append(all, "  "+terminal.Line(change.String()))
		}
	}
	if stay > 0 {
		all = append(all, fmt.Sprintf("%d stay as they are", stay))
	}
	return all
}
