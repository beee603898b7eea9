package olm

import (
	"fmt"
	"io"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Limits of what text shows. JSON has all.
const (
	shownRights = 6
	shownImages = 8
	shownBroken = 5
)

// Text writes the bill as text for users.
func (b *Bill) Text(out io.Writer) error {
	var page terminal.Page
	if len(b.Operators) == 0 {
		page.Lines("no operators are installed")
	}
	for i := range b.Operators {
		if i > 0 {
			page.Lines("")
		}
		b.Operators[i].write(&page)
	}
	page.Section("Catalogs", b.catalogs())
	page.Section("Groups", b.groups())
	page.Section("Unknown", b.Unknown)
	_, err := io.WriteString(out, terminal.Clean(page.String())) // most of it comes from bundles
	return err
}

func (o *Operator) write(page *terminal.Page) {
	page.Lines(terminal.Line(o.headline()))
	page.Fields("Source", lines(o.source()))
	page.Fields("Upgrade", lines(o.upgrade()))
	page.Fields("Problem", lines(o.problems()))
	page.Fields("Deprecated", lines(o.Deprecations))
	if o.CSV == "" {
		return
	}
	if len(o.Namespaces) > 0 {
		page.Fields("Works in", lines([]string{Namespaces(o.Namespaces)}))
	}
	page.Fields("Provides", shortened(o.Provides, shownImages))
	page.Fields("May", RightLines(o.Permissions))
	page.Fields("Images", shortened(o.Images, shownImages))
}

func (o *Operator) headline() string {
	if o.CSV == "" {
		return fmt.Sprintf("%s in %s is not installed", o.Package, o.Namespace)
	}
	text := fmt.Sprintf("%s in %s is %s", o.CSV, o.Namespace, o.Phase)
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

func (o *Operator) problems() []string {
	if o.Message == "" {
		return o.Problems
	}
	return append([]string{o.Message}, o.Problems...)
}

func (o *Operator) source() []string {
	if o.Elsewhere {
		return []string{fmt.Sprintf("package %s, installed in the namespace %s", o.Package, o.Namespace)}
	}
	if o.Extension != "" {
		return []string{fmt.Sprintf("package %s, by ClusterExtension %s", o.Package, o.Extension)}
	}
	if o.Subscription == "" {
		return []string{"no Subscription names it"}
	}
	text := fmt.Sprintf("package %s of catalog %s", o.Package, o.Catalog)
	if o.Channel != "" {
		text += ", channel " + o.Channel
	}
	return []string{fmt.Sprintf("%s, by Subscription %s (%s)", text, o.Subscription, o.Approval)}
}

func (o *Operator) upgrade() []string {
	next := o.Upgrade
	switch {
	case next == nil:
		return nil
	case next.Phase == PlanRequiresApproval:
		return []string{fmt.Sprintf("%s waits for approval: operon olm plan %s -n %s", next.CSV, next.Plan, o.Namespace)}
	case next.Phase == "":
		return []string{next.CSV}
	}
	return []string{fmt.Sprintf("%s: InstallPlan %s is %s", next.CSV, next.Plan, next.Phase)}
}

// Namespaces returns a list of namespaces in words. One empty name stands for all.
func Namespaces(names []string) string {
	switch {
	case len(names) == 0:
		return "no namespace"
	case len(names) == 1 && names[0] == "":
		return "all namespaces"
	}
	return strings.Join(names, ", ")
}

// RightLines returns permissions in lines. Those that lead to others come first and are all shown.
func RightLines(rights []Right) []string {
	var shown []string
	for i := range rights {
		if rights[i].Escalates != "" || len(shown) < shownRights {
			shown = append(shown, terminal.Line(rights[i].String()))
		}
	}
	return more(shown, len(rights)-len(shown))
}

func shortened(all []string, limit int) []string {
	return more(lines(all[:min(len(all), limit)]), len(all)-limit)
}

func more(shown []string, left int) []string {
	if left <= 0 {
		return shown
	}
	return append(shown, fmt.Sprintf("and %d more; -o json has all", left))
}

// lines returns each text in one line, because it could otherwise look like a section.
func lines(all []string) []string {
	made := make([]string, len(all))
	for i, one := range all {
		made[i] = terminal.Line(one)
	}
	return made
}

func (b *Bill) catalogs() []string {
	var all []string
	for _, one := range b.Catalogs {
		name := address(one.Namespace, one.Name)
		if one.Kind == kindClusterCatalog {
			name = one.Kind + " " + name
		}
		text := fmt.Sprintf("%s is %s", name, one.State)
		if one.Packages > 0 || one.Kind == kindCatalog { // the manager of OLM v1 does not report them
			text += ", " + plural.Count(one.Packages, "package")
		}
		if one.Message != "" {
			text += ": " + one.Message
		}
		all = append(all, terminal.Line(text))
		for _, broken := range shortened(one.Broken, shownBroken) {
			all = append(all, "  cannot be used: "+broken)
		}
	}
	return all
}

func (b *Bill) groups() []string {
	var all []string
	for _, one := range b.Groups {
		text := fmt.Sprintf("%s selects %s", address(one.Namespace, one.Name), Namespaces(one.Namespaces))
		for _, problem := range one.Problems {
			text += "; " + problem
		}
		all = append(all, terminal.Line(text))
	}
	return all
}
