package manifest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var crdInvalid = &rule.Rule{
	Name: "crd-invalid", Severity: rule.Error,
	About:  "A CRD that the API server rejects because of its schema, its defaults, or the syntax or cost of its CEL rules.",
	Reason: "The operator cannot be installed or upgraded.",
	Fix:    "fix what the message names; a CEL rule that is too expensive needs maxItems, maxLength or maxProperties on the fields that it reads",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.Versions() {
			for _, problem := range refused(v) {
				found.Add(rule.At(v.Object, v.Path()+".schema.openAPIV3Schema."+strings.TrimPrefix(problem.Field, ".")), "%s: %s", v.Title(), problem.Error()).
					Also = append(s.Holders(v.Definition, v.CustomResourceDefinitionVersion.Name, stepsIn(problem.Field)), rule.At(v.Object, ""))
			}
		}
	},
}

// stepsIn returns the steps to the field of a path in a schema, such as .properties.spec.properties[pages].items.
func stepsIn(path string) []string {
	var steps []string
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for i := 0; i < len(parts); i++ {
		switch parts[i] {
		case "properties":
			if i++; i < len(parts) {
				steps = append(steps, parts[i])
			}
		case "items", "additionalProperties":
			steps = append(steps, "[]")
		default:
			return steps // a keyword of the field's own schema
		}
	}
	return steps
}

// refused returns the errors with which an API server rejects the schema of a version.
func refused(v *rule.Version) field.ErrorList {
	internal := &apiextensions.JSONSchemaProps{}
	root := field.NewPath("")
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Root(), internal, nil); err != nil {
		return field.ErrorList{field.InternalError(root, err)}
	}
	schema, err := structural.NewStructural(internal)
	if err != nil {
		return field.ErrorList{field.Invalid(root, v.Title(), err.Error())}
	}
	problems := append(structural.ValidateStructural(nil, schema), invalidLists(schema, nil)...)
	if len(problems) > 0 {
		return problems
	}
	wrong, err := defaulting.ValidateDefaults(context.Background(), nil, schema, true, true)
	if err != nil {
		wrong = append(wrong, field.InternalError(root, err))
	}
	check := &ruleCheck{environment: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
	check.walk(schema, model.SchemaDeclType(schema, true), "", 1)
	return slices.Concat(wrong, check.problems)
}

// times describes the ratio of a cost to the limit.
func times(cost uint64) string {
	if more := float64(cost) / ruleLimit; more < 100 {
		return fmt.Sprintf("%.1f times", more)
	}
	return "more than 100 times"
}

// The API server's limits of the estimated cost of CEL rules.
const (
	ruleLimit       = 10_000_000
	definitionLimit = 100_000_000
)

// ruleCheck compiles the CEL rules of a schema, and adds up their estimated costs.
type ruleCheck struct {
	environment *environment.EnvSet
	total       uint64
	problems    field.ErrorList
}

// unbounded is the size of lists and maps without a limit.
const unbounded = 0

// walk checks a schema that applies to many values of one object.
func (c *ruleCheck) walk(s *structural.Structural, declared *apicel.DeclType, path string, many uint64) {
	if s == nil || declared == nil {
		return
	}
	if len(s.XValidations) > 0 {
		c.compile(s, declared, path, many)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := s.Properties[name]
		escaped, _ := apicel.Escape(name)
		if known, ok := declared.Fields[escaped]; ok {
			c.walk(&below, known.Type, path+".properties."+name, many)
		}
	}
	if s.Items != nil {
		c.walk(s.Items, declared.ElemType, path+".items", product(many, limitOf(s, func(v *structural.ValueValidation) *int64 { return v.MaxItems })))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		most := limitOf(s, func(v *structural.ValueValidation) *int64 { return v.MaxProperties })
		c.walk(s.AdditionalProperties.Structural, declared.ElemType, path+".additionalProperties", product(many, most))
	}
}

func limitOf(s *structural.Structural, of func(*structural.ValueValidation) *int64) uint64 {
	if s.ValueValidation == nil || of(s.ValueValidation) == nil {
		return unbounded
	}
	return uint64(max(1, *of(s.ValueValidation)))
}

// product returns the number of elements in all lists, or unbounded if one of the factors is unbounded.
func product(times, most uint64) uint64 {
	if times == unbounded || most == unbounded {
		return unbounded
	}
	return multiplied(times, most)
}

func multiplied(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

func (c *ruleCheck) compile(s *structural.Structural, declared *apicel.DeclType, path string, many uint64) {
	results, err := cel.Compile(s, declared, celconfig.PerCallLimit, c.environment, cel.NewExpressionsEnvLoader())
	if err != nil {
		c.problems = append(c.problems, field.InternalError(field.NewPath(path), err))
		return
	}
	for i, result := range results {
		at := field.NewPath(fmt.Sprintf("%s.x-kubernetes-validations[%d]", path, i))
		for _, problem := range []*apicel.Error{result.Error, result.MessageExpressionError} {
			if problem != nil {
				c.problems = append(c.problems, field.Invalid(at, s.XValidations[i].Rule, problem.Detail))
			}
		}
		if many == unbounded {
			many = result.MaxCardinality
		}
		cost := multiplied(result.MaxCost, many)
		if cost > ruleLimit {
			c.problems = append(c.problems, field.Forbidden(at, fmt.Sprintf("the rule may cost %s what an API server allows", times(cost))))
			continue
		}
		if c.total += cost; c.total > definitionLimit {
			c.problems = append(c.problems, field.Forbidden(at, "with this rule, all of them together may cost more than an API server allows"))
			return
		}
	}
}
