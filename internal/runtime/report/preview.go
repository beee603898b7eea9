package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// Preview lists the actions that a dry run would execute for an object.
type Preview struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Actions are in the order in which they would be executed. It is empty if everything is as declared.
	Actions []PreviewAction `json:"actions"`
	// Reason and Message state what prevents the object from becoming ready, as its Ready condition would. They are
	// empty if nothing prevents it.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// PreviewAction is an action that would be executed on a child or an external resource.
type PreviewAction struct {
	// Verb is create, update, repair, recreate, replace, adopt, release, delete, conflict or wait.
	Verb      string `json:"verb"`
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are those whose drift would be reverted.
	Fields []string `json:"fields,omitempty"`
	// Why is the reason, in words.
	Why string `json:"why,omitempty"`
}

// String returns a line for each action, and one for what prevents the object from becoming ready.
func (p Preview) String() string {
	object := p.Kind + " " + strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
	var lines []string
	for _, a := range p.Actions {
		lines = append(lines, fmt.Sprintf("%s: %s", object, a.in(p.Namespace)))
	}
	switch {
	case p.Reason != "":
		lines = append(lines, fmt.Sprintf("%s: %s: %s", object, p.Reason, p.Message))
	case len(lines) == 0:
		lines = append(lines, object+": nothing to do")
	}
	return strings.Join(lines, "\n")
}

// in returns the action as text for readers who know the owner's namespace.
func (a PreviewAction) in(namespace string) string {
	name := a.Name
	if a.Namespace != "" && a.Namespace != namespace {
		name = a.Namespace + "/" + name
	}
	text := fmt.Sprintf("%s %s %s", a.Verb, a.Kind, name)
	if a.Why != "" {
		text += ": " + a.Why
	}
	return text
}

// NewPreview returns the preview of an object for which the reconcile would execute actions on children and
// deeds outside, and would end with an outcome.
func NewPreview(object plan.ID, actions []plan.Action, deeds []providers.Deed, o outcome.Outcome) Preview {
	made := Preview{
		Kind: object.Kind, Namespace: object.Namespace, Name: object.Name,
		Actions: []PreviewAction{}, Reason: o.Reason(), Message: o.Message(),
	}
	for _, action := range actions {
		if action.Verb != plan.Keep {
			made.Actions = append(made.Actions, previewOf(action))
		}
	}
	for _, deed := range deeds {
		if deed.Verb == external.MarkIt {
			deed.Verb = external.Create // it follows directly
		}
		made.Actions = append(made.Actions, PreviewAction{Verb: string(deed.Verb), Kind: deed.Ref.Kind, Name: deed.Ref.Name, Why: deed.Why})
	}
	return made
}

func previewOf(action plan.Action) PreviewAction {
	id := action.ID()
	a := PreviewAction{
		Verb: string(action.Verb), Kind: id.Kind, Group: id.Group, Namespace: id.Namespace, Name: id.Name, Why: action.Why,
	}
	for _, d := range action.Drift {
		a.Fields = append(a.Fields, d.Field)
	}
	return a
}

// Equal reports whether two previews of an object show the same.
func (p Preview) Equal(q Preview) bool {
	return cmp.Or(cmp.Compare(p.Reason, q.Reason), cmp.Compare(p.Message, q.Message)) == 0 &&
		slices.EqualFunc(p.Actions, q.Actions, func(a, b PreviewAction) bool {
			return a.in("") == b.in("") && a.Group == b.Group && slices.Equal(a.Fields, b.Fields)
		})
}
