package manifest

import (
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// each visits the fields of the spec, which users write, in all versions.
func each(s *rule.Subject, visit func(*rule.Field)) {
	for _, v := range s.OwnVersions() {
		v.Fields("spec", visit)
	}
}

// report adds a finding about a field, once for each place: several kinds and versions may share one Go field.
func report(s *rule.Subject, found *rule.Findings, f *rule.Field, format string, values ...any) {
	at, also := s.PlaceOf(f)
	if found.Has(at) {
		return
	}
	found.Add(at, format, values...).Also = also
}

// Names of whole numbers whose values should be limited.
var (
	counts = regexp.MustCompile(`^(replicas|size|count|parallelism|members|instances|.*Replicas)$`)
	ports  = regexp.MustCompile(`^(port|nodePort|targetPort|.*Port)$`)
)

var numberBounds = &rule.Rule{
	Name: "number-bounds", Severity: rule.Warning,
	About:  "A replica count or port without bounds.",
	Reason: "The API server stores typos, and only the operator, or a rejected child, discovers them: the object gets stuck instead of being rejected.",
	Fix:    "+kubebuilder:validation:Minimum=0 and a Maximum; for ports, 1 and 65535",
	Check: func(s *rule.Subject, found *rule.Findings) {
		each(s, func(f *rule.Field) {
			if f.Schema.Type != "integer" || f.Schema.XIntOrString || len(f.Schema.Enum) > 0 || ruled(f) || !s.Own(f) {
				return
			}
			switch {
			case counts.MatchString(f.Name()) && f.Schema.Minimum == nil:
				report(s, found, f, "%s accepts numbers below 0", f)
			case ports.MatchString(f.Name()) && (f.Schema.Minimum == nil || f.Schema.Maximum == nil):
				report(s, found, f, "%s accepts numbers that are not valid ports", f)
			}
		})
	},
}

// ruled reports whether a CEL rule checks a field.
func ruled(f *rule.Field) bool {
	for _, schema := range []*apiextensionsv1.JSONSchemaProps{f.Schema, f.Parent, f.Version.Root()} {
		for _, one := range schema.XValidations {
			if schema == f.Schema || strings.Contains(one.Rule, f.Name()) {
				return true
			}
		}
	}
	return false
}

var mapKeyLength = &rule.Rule{
	Name: "map-key-length", Severity: rule.Advice,
	About:  "A string without maxLength that is the key of a list.",
	Reason: "Every writer of the list stores and compares its keys, and the API server assumes keys of megabytes when it estimates the cost of CEL rules for the list, so it may reject the rules.",
	Fix:    "+kubebuilder:validation:MaxLength=63 (or the actual limit of the name)",
	Check: func(s *rule.Subject, found *rule.Findings) {
		each(s, func(f *rule.Field) {
			if f.Schema.Items == nil || f.Schema.Items.Schema == nil {
				return
			}
			for _, name := range f.Schema.XListMapKeys {
				key, ok := f.Schema.Items.Schema.Properties[name]
				if !ok || key.Type != "string" || key.MaxLength != nil || len(key.Enum) > 0 || foreign(s, f) {
					continue
				}
				report(s, found, f.Below(name), "%s is the key of a list and has no maximum length", f.Below(name))
			}
		})
	},
}

// foreign reports whether the elements of a field have a type outside the project, such as corev1.Container.
func foreign(s *rule.Subject, f *rule.Field) bool {
	return s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps) != nil &&
		s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, append(slices.Clone(f.Steps), "[]", f.Schema.XListMapKeys[0])) == nil
}

var rulesUnbounded = &rule.Rule{
	Name: "list-unbounded", Severity: rule.Warning,
	About:  "An unbounded list or map with CEL rules on it or its elements.",
	Reason: "The API server estimates the cost of a rule for the longest list that fits into a request: with one more rule, it may reject the CRD during an upgrade.",
	Fix:    "+kubebuilder:validation:MaxItems=100 (or MaxProperties), with a reasonable limit",
	Check: func(s *rule.Subject, found *rule.Findings) {
		each(s, func(f *rule.Field) {
			list := f.Schema.Type == "array" && f.Schema.MaxItems == nil
			table := f.Schema.AdditionalProperties != nil && f.Schema.AdditionalProperties.Schema != nil && f.Schema.MaxProperties == nil
			if (list || table) && s.Own(f) && (len(f.Schema.XValidations) > 0 || rulesBelow(elementOf(f.Schema))) {
				report(s, found, f, "%s has CEL rules and no maximum length", f)
			}
		})
	},
}

func elementOf(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.Items != nil {
		return schema.Items.Schema
	}
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.Schema
	}
	return nil
}

func rulesBelow(schema *apiextensionsv1.JSONSchemaProps) bool {
	if schema == nil {
		return false
	}
	if len(schema.XValidations) > 0 || rulesBelow(elementOf(schema)) {
		return true
	}
	for _, below := range schema.Properties {
		if rulesBelow(&below) {
			return true
		}
	}
	return false
}

var phases = regexp.MustCompile(`^(phase|mode|policy|strategy|.*Policy|.*Strategy|.*Mode)$`)

var phaseEnum = &rule.Rule{
	Name: "word-enum", Severity: rule.Warning,
	About:  "A mode, policy or strategy in the spec that accepts any string.",
	Reason: "Unknown values are stored, and the operator treats them like the last branch of a switch.",
	Fix:    "+kubebuilder:validation:Enum=One;Another",
	Check: func(s *rule.Subject, found *rule.Findings) {
		each(s, func(f *rule.Field) {
			if f.Schema.Type != "string" || f.Steps[len(f.Steps)-1] == "[]" || !phases.MatchString(f.Name()) {
				return
			}
			if len(f.Schema.Enum) > 0 || f.Schema.Pattern != "" || f.Schema.Format != "" || ruled(f) || !s.Own(f) {
				return
			}
			report(s, found, f, "%s accepts any string", f)
		})
	},
}

var fieldDescription = &rule.Rule{
	Name: "field-description", Severity: rule.Advice,
	About:  "A field of the spec without a description.",
	Reason: "kubectl explain, editors and generated documentation show nothing for it, so users have to guess.",
	Fix:    "add a comment above the field: what it does, its unit, what its default means",
	Check: func(s *rule.Subject, found *rule.Findings) {
		each(s, func(f *rule.Field) {
			if len(f.Steps) < 2 || f.Steps[len(f.Steps)-1] == "[]" || f.Schema.Description != "" {
				return
			}
			origin := s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps)
			if origin == nil && s.HasType(f.Version) || origin != nil && described(origin.Comment()) {
				return // the type is in another module, or the field is described in Go
			}
			if origin == nil && describesNothing(f.Version.Root()) {
				return // the whole definition has no descriptions, to make it small
			}
			report(s, found, f, "%s has no description", f)
		})
	},
}

// described reports whether a comment contains text besides its markers.
func described(comment string) bool {
	for line := range strings.Lines(comment) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "operon:") {
			return true
		}
	}
	return false
}

func describesNothing(schema *apiextensionsv1.JSONSchemaProps) bool {
	if schema.Description != "" {
		return false
	}
	for _, below := range schema.Properties {
		if !describesNothing(&below) {
			return false
		}
	}
	return true
}

var printerColumns = &rule.Rule{
	Name: "printer-columns", Severity: rule.Advice,
	About:  "A kind for which kubectl get shows no readiness or no age.",
	Reason: "To find broken objects, users have to open each of them; a kind with custom columns shows no age unless one of them is the age.",
	Fix:    "add +kubebuilder:printcolumn markers above the type for the status of the condition Ready, and for name=Age,type=date,JSONPath=.metadata.creationTimestamp",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.OwnVersions() {
			if v.Deprecated {
				continue
			}
			var missing []string
			if conditionsOf(v) != nil && !shows(v, ".status.conditions") && !shows(v, ".status.phase") {
				missing = append(missing, "its readiness")
			}
			if len(v.AdditionalPrinterColumns) > 0 && !shows(v, "creationTimestamp") {
				missing = append(missing, "its age")
			}
			if len(missing) == 0 {
				continue
			}
			at, also := s.PlaceOfKind(v, v.Path()+".additionalPrinterColumns")
			found.Add(at, "kubectl get %s does not show %s", v.Typed.Spec.Names.Plural, strings.Join(missing, " and ")).Also = also
		}
	},
}

func shows(v *rule.Version, path string) bool {
	return slices.ContainsFunc(v.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
		return strings.Contains(c.JSONPath, path)
	})
}

var shortName = &rule.Rule{
	Name: "short-name", Severity: rule.Advice,
	About:  "A kind with a long name and no short name.",
	Reason: "Users have to type the full name each time.",
	Fix:    "+kubebuilder:resource:shortName=abc above the type",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.OwnVersions() {
			if v.CustomResourceDefinitionVersion.Storage && len(v.Typed.Spec.Names.ShortNames) == 0 && len(v.Typed.Spec.Names.Plural) > 12 {
				at, also := s.PlaceOfKind(v, "spec.names")
				found.Add(at, "%s has no short name", v.Typed.Spec.Names.Plural).Also = also
			}
		}
	},
}
