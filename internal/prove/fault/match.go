package fault

import (
	"fmt"
	"strings"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Always is the value of [Match.Times] that selects each occurrence from the chosen one on.
const Always = -1

// Event is the verb for watch events: not a request, but each change of an object that the
// operator is about to see.
const Event = "event"

// types of events.
var types = []string{"ADDED", "MODIFIED", "DELETED"}

// Match selects requests or events. An empty field matches everything, except that the verb of events has to be set.
type Match struct {
	// Verb is as in [record.Request], or [Event].
	Verb string `json:"verb,omitempty"`
	// Group is the API group. An empty group matches all groups: to select the core group, name its resource.
	Group string `json:"group,omitempty"`
	// Resource is the plural name, with a subresource after a slash, as in a Role: boxes,
	// boxes/status, or boxes/* for both.
	Resource string `json:"resource,omitempty"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object. A name that the server generates is not known
	// when the object is created.
	Name string `json:"name,omitempty"`
	// Type is the type of an event: ADDED, MODIFIED or DELETED.
	Type string `json:"type,omitempty"`
	// Step is the step of the workload in which occurrences are counted. Empty: from the beginning.
	Step string `json:"step,omitempty"`
	// Nth is the first occurrence into which the fault is injected, counted from 1, which is the default.
	Nth int `json:"nth,omitempty"`
	// Times is the number of successive occurrences into which the fault is injected. 0 means 1, and [Always] means no limit.
	Times int `json:"times,omitempty"`
}

// Fits reports whether a request is selected, regardless of its occurrence. An event is a request with the verb [Event].
func (m Match) Fits(r requestlog.Request) bool {
	if r.Verb == Event && m.Verb != Event {
		return false
	}
	return fits(m.Verb, r.Verb) && fits(m.Group, r.Group) && fits(m.Namespace, r.Namespace) &&
		fits(m.Name, r.Name) && m.fitsResource(r)
}

func fits(want, got string) bool { return want == "" || want == got }

func (m Match) fitsResource(r requestlog.Request) bool {
	if m.Resource == "" {
		return true
	}
	resource, subresource, _ := strings.Cut(m.Resource, "/")
	return resource == r.Resource && (subresource == "*" || subresource == r.Subresource)
}

// strikes reports whether a fault is injected into an occurrence, counted from 1.
func (m Match) strikes(occurrence int) bool {
	return occurrence >= m.Nth && (m.Times == Always || occurrence < m.Nth+m.Times)
}

// String describes the selection for people.
func (m Match) String() string {
	words := []string{orAny(m.Verb), orAny(m.Resource)}
	if object := strings.Trim(m.Namespace+"/"+m.Name, "/"); object != "" {
		words = append(words, object)
	}
	if m.Type != "" {
		words = append(words, m.Type)
	}
	text := strings.Join(words, " ") + fmt.Sprintf(" #%d", m.Nth)
	if m.Step != "" {
		text += " in step " + m.Step
	}
	return text
}

func orAny(s string) string {
	if s == "" {
		return "*"
	}
	return s
}
