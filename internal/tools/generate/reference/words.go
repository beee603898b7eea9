package reference

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// typeOf describes the type of a field in words. Types with fields are links.
func (p *page) typeOf(path string, s *apiextensionsv1.JSONSchemaProps, nested *[]nestedType) string {
	if name := coreType(s); name != "" {
		return name
	}
	switch {
	case isQuantity(s):
		return "quantity"
	case s.XIntOrString:
		return "integer or string"
	case s.XEmbeddedResource:
		return "Kubernetes object"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + p.typeOf(path+"[]", s.Items.Schema, nested)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + p.typeOf(path+"{}", s.AdditionalProperties.Schema, nested)
	case len(s.Properties) > 0:
		return fmt.Sprintf("[object](#%s)", p.link(path, s, nested))
	}
	return plainType(s)
}

func plainType(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Type == "":
		return "anything"
	case s.Type == "object":
		return "object with any fields"
	case s.Format == "date-time":
		return "time"
	case s.Format == "byte":
		return "base64"
	case s.Format == "", s.Type != "string":
		return s.Type
	}
	return s.Type + ", " + s.Format
}

// isQuantity reports whether a schema was generated from the Go type resource.Quantity: an amount such as 500m or 2Gi.
func isQuantity(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XIntOrString && strings.Contains(s.Pattern, "[KMGTPE]i")
}

// says returns sentences about a field: its purpose, allowed values, and default.
func says(s *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	if s.Description != "" && len(s.Properties) == 0 || coreType(s) != "" {
		all = append(all, prose(s.Description))
	}
	if len(s.Properties) > 0 && coreType(s) == "" {
		all = append(all, firstSentence(s.Description)) // its section contains the rest
	}
	limits := strings.Join(limits(s), " ")
	all = append(all, limits)
	if len(s.Properties) == 0 {
		for _, rule := range s.XValidations {
			all = append(all, ruleText(rule))
		}
	}
	return without(all, "")
}

// limits returns sentences about the allowed values of a field.
func limits(s *apiextensionsv1.JSONSchemaProps) []string {
	sentences := []string{
		oneOf(s.Enum),
		numberRange(s),
		sizeRange("characters", s.MinLength, s.MaxLength),
		sizeRange("items", s.MinItems, s.MaxItems),
		sizeRange("entries", s.MinProperties, s.MaxProperties),
		multiple(s.MultipleOf),
	}
	if s.Pattern != "" && !isQuantity(s) && coreType(s) == "" {
		sentences = append(sentences, "Matches "+code(s.Pattern)+".")
	}
	sentences = append(sentences, uniqueness(s))
	if s.Nullable {
		sentences = append(sentences, "May be null.")
	}
	if s.Default != nil {
		sentences = append(sentences, "Default: "+code(plainValue(*s.Default))+".")
	}
	sentences = append(sentences, elements(s)...)
	return without(sentences, "")
}

// elements returns the limits of the elements of a list or map of plain values. The limits of objects are in their sections.
func elements(s *apiextensionsv1.JSONSchemaProps) []string {
	var of *apiextensionsv1.JSONSchemaProps
	switch {
	case s.Items != nil:
		of = s.Items.Schema
	case s.AdditionalProperties != nil:
		of = s.AdditionalProperties.Schema
	}
	if of == nil || coreType(of) != "" {
		return nil
	}
	each := limits(of)
	if len(of.Properties) == 0 {
		for _, rule := range of.XValidations {
			each = append(each, ruleText(rule))
		}
	}
	if len(each) == 0 {
		return nil
	}
	return []string{"Each: " + strings.Join(each, " ")}
}

func oneOf(values []apiextensionsv1.JSON) string {
	var shown []string
	for _, value := range values {
		shown = append(shown, plainValue(value))
	}
	switch len(shown) {
	case 0:
		return ""
	case 1:
		return "Always " + code(shown[0]) + "."
	}
	return "One of " + codes(shown) + "."
}

// plainValue returns a value as a user types it: a non-empty text without quotes.
func plainValue(value apiextensionsv1.JSON) string {
	text := string(value.Raw)
	if plain, err := strconv.Unquote(text); err == nil && plain != "" {
		return plain
	}
	return text
}

func numberRange(s *apiextensionsv1.JSONSchemaProps) string {
	lowest, highest := "at least ", "at most "
	if s.ExclusiveMinimum {
		lowest = "more than "
	}
	if s.ExclusiveMaximum {
		highest = "less than "
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil && !s.ExclusiveMinimum && !s.ExclusiveMaximum:
		return fmt.Sprintf("%s to %s.", number(*s.Minimum), number(*s.Maximum))
	case s.Minimum != nil && s.Maximum != nil:
		return sentence(lowest + number(*s.Minimum) + ", " + highest + number(*s.Maximum))
	case s.Minimum != nil:
		return sentence(lowest + number(*s.Minimum))
	case s.Maximum != nil:
		return sentence(highest + number(*s.Maximum))
	}
	return ""
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func sizeRange(unit string, lowest, highest *int64) string {
	switch {
	case lowest != nil && highest != nil && *lowest == *highest:
		return fmt.Sprintf("Exactly %s.", counted(*lowest, unit))
	case lowest != nil && highest != nil:
		return fmt.Sprintf("%d to %s.", *lowest, counted(*highest, unit))
	case lowest != nil && *lowest == 1:
		return "Not empty."
	case lowest != nil:
		return fmt.Sprintf("At least %s.", counted(*lowest, unit))
	case highest != nil:
		return fmt.Sprintf("At most %s.", counted(*highest, unit))
	}
	return ""
}

// counted returns a number with a unit. The rules for plurals fit only the units used here.
func counted(n int64, unit string) string {
	if n != 1 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	if unit == "entries" {
		return "1 entry"
	}
	return "1 " + strings.TrimSuffix(unit, "s")
}

func multiple(of *float64) string {
	if of == nil {
		return ""
	}
	return "A multiple of " + number(*of) + "."
}

func uniqueness(s *apiextensionsv1.JSONSchemaProps) string {
	if s.XListType == nil || coreList(s) {
		return ""
	}
	switch *s.XListType {
	case "map":
		return "No two have the same " + codes(s.XListMapKeys) + "."
	case "set":
		return "No two are the same."
	}
	return ""
}

// ruleText returns a rule's message and its expression, or only the expression if there is no message.
func ruleText(rule apiextensionsv1.ValidationRule) string {
	if rule.Message == "" {
		return "Has to hold: " + code(rule.Rule) + "."
	}
	return sentence(prose(rule.Message)) + " (" + code(rule.Rule) + ")"
}

// sentence adds a capital letter at the beginning and a period at the end.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// code formats text as Markdown code.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	return "`` " + text + " ``"
}

func codes(all []string) string {
	var shown []string
	for _, text := range all {
		shown = append(shown, code(text))
	}
	return strings.Join(shown, ", ")
}

var paragraphs = regexp.MustCompile(`\n[ \t]*\n`)

// prose returns a description as Markdown: it keeps paragraphs and list items, joins lines, and escapes HTML tags.
func prose(description string) string {
	var all []string
	for _, paragraph := range paragraphs.Split(strings.TrimSpace(description), -1) {
		all = append(all, joined(paragraph))
	}
	return escapeTags(strings.Join(all, "\n\n"))
}

// joined joins the lines of a paragraph into one, with one line for each list item.
func joined(paragraph string) string {
	var lines []string
	for _, line := range strings.Split(paragraph, "\n") {
		line = strings.TrimSpace(line)
		item := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ")
		if item || len(lines) == 0 {
			lines = append(lines, line)
			continue
		}
		lines[len(lines)-1] += " " + line
	}
	return strings.Join(lines, "\n")
}

// escapeTags escapes HTML tags, except between backticks.
func escapeTags(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "<", "&lt;")
	}
	return strings.Join(parts, "`")
}

var sentenceEnd = regexp.MustCompile(`[.!?](\s|$)`)

func firstSentence(description string) string {
	text := prose(description)
	paragraph, _, _ := strings.Cut(text, "\n\n")
	if end := sentenceEnd.FindStringIndex(paragraph); end != nil {
		return paragraph[:end[0]+1]
	}
	return paragraph
}

// cells replaces Markdown that does not work in a table cell, such as lists.
var cells = strings.NewReplacer("|", `\|`, "\n\n- ", "<br>• ", "\n\n* ", "<br>• ", "\n- ", "<br>• ", "\n* ", "<br>• ", "\n\n", "<br>", "\n", " ")

// inCell converts Markdown for a table cell.
func inCell(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(cells.Replace("\n"+text), " "), "<br>")
}

// anchor returns the anchor of a heading, according to GitHub's rules.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

func without(all []string, unwanted string) []string {
	var kept []string
	for _, one := range all {
		if one != unwanted {
			kept = append(kept, one)
		}
	}
	return kept
}
