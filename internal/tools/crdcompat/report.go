package crdcompat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
)

// Rule is the subject of a finding.
type Rule string

// The rules. Findings of the first group break stored objects: a change with such a finding is not [Report.Safe].
const (
	// VersionDropped: a version is removed in which objects may be stored.
	VersionDropped Rule = "version-dropped"
	// ScopeChanged: the scope of the objects changes between namespaced and cluster.
	ScopeChanged Rule = "scope-changed"
	// KindChanged: the kind of the stored objects is renamed.
	KindChanged Rule = "kind-changed"
	// ConversionLost: versions were converted by a webhook, and would no longer be converted.
	ConversionLost Rule = "conversion-lost"
	// FieldPruned: objects hold data in a field that would be dropped.
	FieldPruned Rule = "field-pruned"
	// ObjectInvalid: objects could no longer be written.
	ObjectInvalid Rule = "object-invalid"

	// ValueRefused: objects have a value that the schema no longer accepts. They can be written, but not with a change of the part that has
	// the value.
	ValueRefused Rule = "value-refused"
	// FieldRemoved: a field is removed from the schema; no stored object holds data in it.
	FieldRemoved Rule = "field-removed"
	// TypeChanged: the type of a field changes; this makes no stored object invalid.
	TypeChanged Rule = "type-changed"
	// RequiredAdded: a field becomes required and has no default.
	RequiredAdded Rule = "required-added"
	// ValidationNarrowed: a field accepts fewer values, and all stored objects have one of them.
	ValidationNarrowed Rule = "validation-narrowed"
	// DefaultChanged: a field gets another default, or has one for the first time or no longer. Stored objects without the field are read
	// with the new default.
	DefaultChanged Rule = "default-changed"
	// VersionUnserved: the version is no longer served to clients that use it.
	VersionUnserved Rule = "version-unserved"
	// VersionUnread: objects could not be read in the version, for example because the conversion webhook does not run.
	VersionUnread Rule = "version-unread"
	// ConversionAwaited: the operator converts the versions, but does not do so yet.
	ConversionAwaited Rule = "conversion-awaited"
	// StatusLost: a version loses its subresource status, which operators use to write the status.
	StatusLost Rule = "status-lost"
	// StorageChanged: objects stay stored in the older version until each is written again.
	StorageChanged Rule = "storage-changed"
)

var breaking = []Rule{VersionDropped, ScopeChanged, KindChanged, ConversionLost, FieldPruned, ObjectInvalid}

// shownObjects is the number of objects that a finding names.
const shownObjects = 5

// Finding is one effect of the change.
type Finding struct {
	Rule Rule `json:"rule"`
	// Breaks reports that stored objects would lose data or could no longer be written.
	Breaks bool `json:"breaks"`
	// Version is the version whose schema the finding is about, if any.
	Version string `json:"version,omitempty"`
	// Path is the path of the field, such as spec.ports[*].name.
	Path string `json:"path,omitempty"`
	// Message describes the effect and what to do about it.
	Message string `json:"message"`
	// Objects names the first of the affected objects, and Count is the number of affected objects.
	Objects []string `json:"objects,omitempty"`
	Count   int      `json:"count,omitempty"`
}

// Invalidates reports whether stored objects would violate the new schema, even if they could still be written.
func (f *Finding) Invalidates() bool { return f.Breaks || f.Rule == ValueRefused }

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
	text += fmt.Sprintf("\n    %s: %s", plural.Count(f.Count, "object"), strings.Join(f.Objects, ", "))
	if more := f.Count - len(f.Objects); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// State describes how a definition differs from the definition in the cluster.
type State string

// The states.
const (
	New       State = "new"
	Unchanged State = "unchanged"
	Changed   State = "changed"
)

// Result holds the findings for one definition.
type Result struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Looked is the number of stored objects that were checked.
	Looked   int        `json:"looked"`
	Findings []*Finding `json:"findings"`
}

// Safe reports whether the change breaks no stored object.
func (r *Result) Safe() bool {
	return !slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.Breaks })
}

func (r *Result) String() string {
	var b strings.Builder
	switch {
	case r.State != Changed:
		fmt.Fprintf(&b, "%s is %s\n", r.Name, r.State)
	case len(r.Findings) == 0:
		fmt.Fprintf(&b, "%s changes nothing for %s\n", r.Name, plural.Count(r.Looked, "stored object"))
	default:
		fmt.Fprintf(&b, "%s: %s, %s looked at\n", r.Name, plural.Count(len(r.Findings), "finding"), plural.Count(r.Looked, "stored object"))
	}
	for _, finding := range r.Findings {
		fmt.Fprintf(&b, "  %s\n", finding)
	}
	return b.String()
}

// Report holds the results for several definitions.
type Report struct {
	Definitions []*Result `json:"definitions"`
}

// Safe reports whether the changes break no stored object.
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
