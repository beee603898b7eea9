package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// page is the page of one group and version.
type page struct {
	gv    schema.GroupVersion
	kinds []kind

	types map[string]string // anchors of types that have a section, by schema
	out   strings.Builder
}

func newPage(gv schema.GroupVersion, kinds []kind) *page {
	return &page{gv: gv, kinds: kinds, types: map[string]string{}}
}

func (p *page) render() []byte {
	p.heading(1, p.gv.String())
	p.paragraph("<!-- " + Mark + " from the CustomResourceDefinitions; edits are lost. -->")
	if len(p.kinds) > 1 {
		p.contents()
	}
	for _, k := range p.kinds {
		p.kind(k)
	}
	return []byte(strings.TrimRight(p.out.String(), "\n") + "\n")
}

// contents lists the kinds, each with its first sentence.
func (p *page) contents() {
	p.row("Kind", "")
	p.row("---", "---")
	for _, k := range p.kinds {
		p.row(fmt.Sprintf("[%s](#%s)", k.name, anchor(k.name)), inCell(firstSentence(k.schema.Description)))
	}
	p.out.WriteString("\n")
}

func (p *page) kind(k kind) {
	p.heading(2, k.name)
	p.paragraph(prose(k.schema.Description))
	p.facts(k)
	p.rules(k.schema)
	p.samples(k)
	p.columns(k)
	for _, name := range top(k.schema) {
		field := k.schema.Properties[name]
		p.topField(k, name, &field)
	}
}

// facts describes in a line or two the names and the scope of the kind.
func (p *page) facts(k kind) {
	names := k.definition.Spec.Names
	parts := []string{code(names.Plural + "." + k.definition.Spec.Group)}
	if len(names.ShortNames) > 0 {
		parts = append(parts, "short "+codes(names.ShortNames))
	}
	if len(names.Categories) > 0 {
		parts = append(parts, "in "+codes(names.Categories))
	}
	where := "in a namespace"
	if k.definition.Spec.Scope == apiextensionsv1.ClusterScoped {
		where = "for the whole cluster"
	}
	parts = append(parts, where)
	if sub := k.version.Subresources; sub != nil && sub.Scale != nil {
		parts = append(parts, fmt.Sprintf("scaled by %s", code(strings.TrimPrefix(sub.Scale.SpecReplicasPath, "."))))
	}
	p.paragraph(strings.Join(parts, ", ") + ".")
	if k.version.Deprecated {
		warning := "This version is deprecated."
		if k.version.DeprecationWarning != nil {
			warning = "Deprecated: " + prose(*k.version.DeprecationWarning)
		}
		p.paragraph("> " + warning)
	}
}

func (p *page) samples(k kind) {
	for _, sample := range k.samples {
		text, err := yaml.Marshal(sample.Object)
		if err != nil {
			continue // impossible, because it was read from YAML
		}
		p.paragraph("```yaml\n" + strings.TrimRight(string(text), "\n") + "\n```")
	}
}

// columns describes what kubectl prints, and the conditions that it can wait for.
func (p *page) columns(k kind) {
	if len(k.version.AdditionalPrinterColumns) == 0 {
		return
	}
	var shown []string
	for _, column := range k.version.AdditionalPrinterColumns {
		text := column.Name + " " + code(strings.TrimPrefix(column.JSONPath, "."))
		if column.Priority > 0 {
			text += " (with `-o wide`)"
		}
		shown = append(shown, text)
	}
	p.paragraph(fmt.Sprintf("`kubectl get %s` shows %s.%s", k.definition.Spec.Names.Plural, strings.Join(shown, ", "), waiting(k)))
}

var conditionPath = regexp.MustCompile(`conditions\[\?\(@\.type\s*==\s*["']([^"']+)["']\)\]\.status`)

// waiting describes how to wait for the first condition that has a column.
func waiting(k kind) string {
	for _, column := range k.version.AdditionalPrinterColumns {
		if found := conditionPath.FindStringSubmatch(column.JSONPath); found != nil {
			return fmt.Sprintf(" `kubectl wait --for=condition=%s %s/NAME` waits for one.", found[1], k.definition.Spec.Names.Singular)
		}
	}
	return ""
}

// top returns the fields that are specific to the kind, the spec first and the status last.
func top(s *apiextensionsv1.JSONSchemaProps) []string {
	order := map[string]int{"spec": -1, "status": 1}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return order[a] - order[b] })
	return names
}

// topField writes the section of spec, status, or another top-level field, even if its type is not an object.
func (p *page) topField(k kind, name string, field *apiextensionsv1.JSONSchemaProps) {
	path := k.name + "." + name
	if len(field.Properties) > 0 && coreType(field) == "" {
		p.section(path, field)
		return
	}
	p.heading(3, path)
	var nested []nestedType
	p.row("Field", "Type", "")
	p.row("---", "---", "---")
	p.field(path, name, *field, slices.Contains(k.schema.Required, name), &nested)
	p.out.WriteString("\n")
	p.sections(nested)
}

// nestedType is the type of a field.
type nestedType struct {
	path   string
	schema *apiextensionsv1.JSONSchemaProps
}

// section describes one object type, and then the types of its fields.
func (p *page) section(path string, s *apiextensionsv1.JSONSchemaProps) {
	p.types[identity(s)] = p.heading(3, path)
	p.paragraph(prose(s.Description))
	p.rules(s)
	var nested []nestedType
	p.row("Field", "Type", "")
	p.row("---", "---", "---")
	for _, name := range fields(s) {
		p.field(path, name, s.Properties[name], slices.Contains(s.Required, name), &nested)
	}
	p.out.WriteString("\n")
	p.sections(nested)
}

func (p *page) sections(nested []nestedType) {
	for _, n := range nested {
		p.section(n.path, n.schema)
	}
}

// fields returns the names of an object's fields, the required ones first.
func fields(s *apiextensionsv1.JSONSchemaProps) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(a, b string) int {
		return boolOrder(slices.Contains(s.Required, b)) - boolOrder(slices.Contains(s.Required, a))
	})
	return names
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *page) field(path, name string, s apiextensionsv1.JSONSchemaProps, required bool, nested *[]nestedType) {
	title := code(name)
	if required {
		title += " *required*"
	}
	p.row(title, p.typeOf(path+"."+name, &s, nested), inCell(strings.Join(says(&s), "\n\n")))
}

// link returns the anchor of a type. The first use of a type adds its section.
func (p *page) link(path string, s *apiextensionsv1.JSONSchemaProps, nested *[]nestedType) string {
	id := identity(s)
	if _, known := p.types[id]; !known {
		p.types[id] = anchor(path)
		*nested = append(*nested, nestedType{path: path, schema: s})
	}
	return p.types[id]
}

// identity returns the same text for types that differ only in properties of their use: description, default and nullable.
func identity(s *apiextensionsv1.JSONSchemaProps) string {
	bare := *s
	bare.Description, bare.Default, bare.Nullable = "", nil, false
	encoded, err := json.Marshal(bare)
	if err != nil {
		return fmt.Sprintf("%p", s) // different from all others
	}
	return string(encoded)
}

func (p *page) rules(s *apiextensionsv1.JSONSchemaProps) {
	for _, rule := range s.XValidations {
		p.out.WriteString("- " + ruleText(rule) + "\n")
	}
	if len(s.XValidations) > 0 {
		p.out.WriteString("\n")
	}
}

// heading writes a heading and returns its anchor.
func (p *page) heading(level int, text string) string {
	p.out.WriteString(strings.Repeat("#", level) + " " + text + "\n\n")
	return anchor(text)
}

func (p *page) paragraph(text string) {
	if text != "" {
		p.out.WriteString(text + "\n\n")
	}
}

func (p *page) row(cells ...string) {
	p.out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
