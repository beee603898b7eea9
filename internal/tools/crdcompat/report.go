package crdcompat

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is what a finding is about.
type Rule string

// The rules. Those of the first group break what is stored; a change that would do so is not [Report.Safe].
const (
	// VersionDropped: a version is taken out in which objects may be stored.
	VersionDropped Rule = "version-dropped"
	// ScopeChanged: objects would be in namespaces that were in none, or the other way.
	ScopeChanged Rule = "scope-changed"
	// KindChanged: the kind of the stored objects gets another name.
	KindChanged Rule = "kind-changed"
	// ConversionLost: versions were converted by a webhook, and would be by nothing.
	ConversionLost Rule = "conversion-lost"
	// FieldPruned: objects hold data in a field that would be dropped.
	FieldPruned Rule = "field-pruned"
	// ObjectInvalid: objects could not be written any more.
	ObjectInvalid Rule = "object-invalid"

	// FieldRemoved: a field is taken out of the schema; no stored object holds data there.
	FieldRemoved Rule = "field-removed"
	// TypeChanged: a field gets another type; no stored object is invalid for it.
	TypeChanged Rule = "type-changed"
	// RequiredAdded: a field has to be there that did not, and has no default.
	RequiredAdded Rule = "required-added"
	// VersionUnserved: clients that use the version will not find it.
	VersionUnserved Rule = "version-unserved"
	// VersionUnread: objects could not be read in the version, as when what converts them does not run.
	VersionUnread Rule = "version-unread"
	// ConversionAwaited: the operator converts versions, and does not yet.
	ConversionAwaited Rule = "conversion-awaited"
	// StatusLost: a version has no subresource status any more, by which operators write.
	StatusLost Rule = "status-lost"
	// StorageChanged: objects stay stored in the older version until each is written.
	StorageChanged Rule = "storage-changed"
)

var breaking = []Rule{VersionDropped, ScopeChanged, KindChanged, ConversionLost, FieldPruned, ObjectInvalid}

// shownObjects is how many objects a finding names.
const shownObjects = 5

// Finding is one thing that the change would do.
type Finding struct {
	Rule Rule `json:"rule"`
	// Breaks tells that stored objects would lose data or could not be written any more.
	Breaks bool `json:"breaks"`
	// Version is the one whose schema it is about, if it is about one.
	Version string `json:"version,omitempty"`
	// Path is the field's, such as spec.ports[*].name.
	Path string `json:"path,omitempty"`
	// Message says what would happen, and what to do about it.
	Message string `json:"message"`
	// Objects are the first of those that it happens to, and Count is how many there are.
	Objects []string `json:"objects,omitempty"`
	Count   int      `json:"count,omitempty"`
}

func (f *Finding) String() string {
	words := []string{"notice"}
	if f.Breaks {
		words[0] = "BREAKS"
	}
	words = append(words, string(f.Rule))
	for _, word := range []string{f.Version, f.Path} {
		if word != "" {
			words = append(words, word)
		}
	}
	text := strings.Join(words, " ") + ": " + f.Message
	if f.Count == 0 {
		return text
	}
	text += fmt.Sprintf("\n    %s: %s", count(f.Count, "object"), strings.Join(f.Objects, ", "))
	if more := f.Count - len(f.Objects); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// State is how a definition differs from the cluster's.
type State string

// The states.
const (
	New       State = "new"
	Unchanged State = "unchanged"
	Changed   State = "changed"
)

// Result is what became known of one definition.
type Result struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Looked is how many stored objects were looked at.
	Looked   int        `json:"looked"`
	Findings []*Finding `json:"findings"`
}

// Safe reports whether the change breaks nothing that is stored.
func (r *Result) Safe() bool {
	return !slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.Breaks })
}

func (r *Result) String() string {
	var b strings.Builder
	switch {
	case r.State != Changed:
		fmt.Fprintf(&b, "%s is %s\n", r.Name, r.State)
	case len(r.Findings) == 0:
		fmt.Fprintf(&b, "%s changes nothing for %s\n", r.Name, count(r.Looked, "stored object"))
	default:
		fmt.Fprintf(&b, "%s: %s, %s looked at\n", r.Name, count(len(r.Findings), "finding"), count(r.Looked, "stored object"))
	}
	for _, finding := range r.Findings {
		fmt.Fprintf(&b, "  %s\n", finding)
	}
	return b.String()
}

// Report is what became known of several definitions.
type Report struct {
	Definitions []*Result `json:"definitions"`
}

// Safe reports whether the changes break nothing that is stored.
func (r *Report) Safe() bool {
	return !slices.ContainsFunc(r.Definitions, func(one *Result) bool { return !one.Safe() })
}

func (r *Report) String() string {
	var b strings.Builder
	for _, one := range r.Definitions {
		b.WriteString(one.String())
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
