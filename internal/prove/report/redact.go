package report

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// lastApplied is the annotation in which kubectl stores a copy of an object, including the values of a Secret.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// searched is the minimum length in bytes of a Secret's value that is searched for in other texts. Shorter
// values are often common words.
const searched = 6

// Redact returns a report without the values of Secrets. Each value is replaced with a number, the same number for the
// same value: "‹secret value 1›". Values that are known from a Secret are also removed, in plain text and in base64,
// from the data about other objects and from the output of the operator. Hashes of the
// bodies of requests are omitted.
//
// The given report is not changed. Values that are already redacted stay as they are.
func Redact(r Report) Report {
	m := &mask{numbers: map[string]string{}}
	r.Findings = slices.Clone(r.Findings)
	for i := range r.Findings {
		m.secrets(&r.Findings[i])
	}
	for i := range r.Findings {
		m.elsewhere(&r.Findings[i])
	}
	r.Runs = slices.Clone(r.Runs)
	for i := range r.Runs {
		run := &r.Runs[i]
		run.Plan, run.Why, run.Problem, run.Findings = m.text(run.Plan), m.text(run.Why), m.text(run.Problem), m.texts(run.Findings)
	}
	r.Timelines = slices.Clone(r.Timelines)
	for i := range r.Timelines {
		line := &r.Timelines[i]
		line.Key, line.Failing = m.text(line.Key), m.course(line.Failing)
		if line.Reference != nil {
			reference := m.course(*line.Reference)
			line.Reference = &reference
		}
	}
	r.Notes = m.texts(r.Notes)
	return r
}

// mask contains the values that must not be shown.
type mask struct {
	numbers map[string]string
	// known contains the values to search for, the longest first. replacer replaces them. It is created when all values are
	// known.
	known    []string
	replacer *strings.Replacer
}

// secrets hides the values in fields of Secrets.
func (m *mask) secrets(f *finding.Finding) {
	f.Diff = slices.Clone(f.Diff)
	for i := range f.Diff {
		if d := &f.Diff[i]; isSecret(d.Of) {
			d.Want, d.Got = m.value(d.Path, d.Want), m.value(d.Path, d.Got)
		}
	}
	if f.Plan == nil {
		return
	}
	p := *f.Plan
	p.Workload.Steps = slices.Clone(p.Workload.Steps)
	for i := range p.Workload.Steps {
		m.step(&p.Workload.Steps[i])
	}
	f.Plan = &p
}

func (m *mask) step(s *workload.Step) {
	s.Apply = slices.Clone(s.Apply)
	for i, object := range s.Apply {
		if object != nil && isSecret(object.GetKind()) {
			hidden := object.DeepCopy()
			m.object(hidden.Object)
			s.Apply[i] = hidden
		}
	}
	if s.Drift != nil && isSecret(s.Drift.Of.Kind) {
		drift := *s.Drift
		hidden := (&unstructured.Unstructured{Object: drift.Patch}).DeepCopy()
		m.object(hidden.Object)
		drift.Patch = hidden.Object
		s.Drift = &drift
	}
}

// isSecret reports whether a kind, or an object written as kind/name, is a Secret.
func isSecret(of string) bool {
	kind, _, _ := strings.Cut(of, "/")
	kind, _, _ = strings.Cut(kind, ".")
	return strings.EqualFold(kind, "secret") || strings.EqualFold(kind, "secrets")
}

// value hides the content of a field of a Secret, given as JSON.
func (m *mask) value(path, text string) string {
	if text == "" {
		return ""
	}
	field := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]/", r) })
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return m.number(text)
	}
	switch {
	case len(field) == 0:
		value = m.whole(value)
	case field[0] == "data", field[0] == "stringData", strings.Contains(path, lastApplied):
		value = m.leaves(value, field[0] == "data")
	case field[0] == "metadata":
		value = m.copies(value)
	}
	return compact(value)
}

// whole hides the values in a value that stands for a whole Secret: the object, or a word about it, which stays.
func (m *mask) whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m.object(v)
		return v
	case string:
		if strings.Trim(v, "abcdefghijklmnopqrstuvwxyz ") == "" {
			return v
		}
	}
	return m.leaves(value, false)
}

// object hides the values of a whole Secret, in place.
func (m *mask) object(object map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		if value, ok := object[field]; ok {
			object[field] = m.leaves(value, field == "data")
		}
	}
	if metadata, ok := object["metadata"]; ok {
		object["metadata"] = m.copies(metadata)
	}
}

// copies hides the copies that kubectl stores, at any depth.
func (m *mask) copies(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for name, field := range fields {
		if name == lastApplied {
			fields[name] = m.leaves(field, false)
			continue
		}
		fields[name] = m.copies(field)
	}
	return fields
}

// leaves hides everything in a value.
func (m *mask) leaves(value any, encoded bool) any {
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		hidden := map[string]any{}
		for _, name := range sorted(v) {
			hidden[name] = m.leaves(v[name], encoded)
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i := range v {
			hidden[i] = m.leaves(v[i], encoded)
		}
		return hidden
	case string:
		if plain, err := base64.StdEncoding.DecodeString(v); err == nil && encoded {
			return m.number(string(plain))
		}
		return m.number(v)
	default:
		return m.number(compact(v))
	}
}

// number returns the replacement of a value.
func (m *mask) number(value string) string {
	if strings.HasPrefix(value, "‹secret value ") {
		return value
	}
	if number, ok := m.numbers[value]; ok {
		return number
	}
	number := fmt.Sprintf("‹secret value %d›", len(m.numbers)+1)
	m.numbers[value] = number
	if len(value) >= searched {
		m.known = append(m.known, value)
		slices.SortStableFunc(m.known, func(a, b string) int { return len(b) - len(a) })
	}
	return number
}

// text removes known values from a text.
func (m *mask) text(text string) string {
	if m.replacer == nil {
		var pairs []string
		for _, value := range m.known {
			escaped := compact(value)
			for _, form := range []string{value, escaped[1 : len(escaped)-1], base64.StdEncoding.EncodeToString([]byte(value))} {
				pairs = append(pairs, form, m.numbers[value])
			}
		}
		m.replacer = strings.NewReplacer(pairs...)
	}
	return m.replacer.Replace(text)
}

func (m *mask) texts(all []string) []string {
	hidden := slices.Clone(all)
	for i := range hidden {
		hidden[i] = m.text(hidden[i])
	}
	return hidden
}

// elsewhere hides known values in the other fields of a finding.
func (m *mask) elsewhere(f *finding.Finding) {
	f.Message, f.Because, f.Step, f.Log = m.text(f.Message), m.text(f.Because), m.text(f.Step), m.texts(f.Log)
	for i := range f.Diff {
		d := &f.Diff[i]
		d.Want, d.Got = m.text(d.Want), m.text(d.Got)
	}
	f.Last = m.requests(f.Last)
	if f.Plan != nil { // a copy already
		f.Plan.Name, f.Plan.Why = m.text(f.Plan.Name), m.text(f.Plan.Why)
		f.Plan.Workload.Name = m.text(f.Plan.Workload.Name)
		for i := range f.Plan.Workload.Steps {
			m.copied(&f.Plan.Workload.Steps[i])
		}
	}
}

// copied hides known values in the objects of a step, and in its name.
func (m *mask) copied(s *workload.Step) {
	s.Name = m.text(s.Name)
	for i, object := range s.Apply { // the slice is a copy already, but the objects are not
		if object != nil {
			s.Apply[i] = &unstructured.Unstructured{Object: m.within(object.Object).(map[string]any)}
		}
	}
	if s.Drift != nil && s.Drift.Patch != nil {
		drift := *s.Drift
		drift.Patch = m.within(drift.Patch).(map[string]any)
		s.Drift = &drift
	}
}

// within returns a value without known values.
func (m *mask) within(value any) any {
	switch v := value.(type) {
	case string:
		return m.text(v)
	case []any:
		hidden := make([]any, len(v))
		for i := range v {
			hidden[i] = m.within(v[i])
		}
		return hidden
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for name := range v {
			hidden[name] = m.within(v[name])
		}
		return hidden
	}
	return value
}

func (m *mask) requests(all []requestlog.Request) []requestlog.Request {
	hidden := slices.Clone(all)
	for i := range hidden {
		hidden[i].Body, hidden[i].Error = "", m.text(hidden[i].Error)
	}
	return hidden
}

func (m *mask) course(c Course) Course {
	c.Requests = m.requests(c.Requests)
	c.Steps = slices.Clone(c.Steps)
	for i := range c.Steps {
		c.Steps[i].Name, c.Steps[i].Why = m.text(c.Steps[i].Name), m.text(c.Steps[i].Why)
	}
	c.Exits = slices.Clone(c.Exits)
	for i := range c.Exits {
		exit := &c.Exits[i]
		exit.Step, exit.Panic, exit.Log = m.text(exit.Step), m.text(exit.Panic), m.texts(exit.Log)
	}
	return c
}
