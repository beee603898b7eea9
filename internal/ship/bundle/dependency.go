package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
)

// Types of dependencies.
const (
	// PackageDependency is the type of a dependency on versions of a package.
	PackageDependency = "olm.package"

	kindDependency       = "olm.gvk"
	labelDependency      = "olm.label"
	constraintDependency = "olm.constraint"
)

// maxConstraint is the limit of the Operator Lifecycle Manager for the size of a constraint, as JSON.
const maxConstraint = 64 << 10

// check returns the problems with a dependency.
func (d Dependency) check() []string {
	switch d.Type {
	case PackageDependency:
		return checkPackage(d.Type, d.Value, "version")
	case kindDependency:
		return checkFields(d.Type, d.Value, "group", "version", "kind")
	case labelDependency:
		return checkFields(d.Type, d.Value, "label")
	case constraintDependency:
		if data, err := json.Marshal(d.Value); err != nil || len(data) > maxConstraint {
			return []string{fmt.Sprintf("%s: the constraint has more than %d KiB", d.Type, maxConstraint>>10)}
		}
		return checkConstraint(d.Type, d.Value)
	case "":
		return []string{"the dependency has no type"}
	}
	return []string{fmt.Sprintf("unknown type %q; want %s, %s, %s or %s", d.Type, PackageDependency, kindDependency, labelDependency, constraintDependency)}
}

// checkFields returns a problem for each field that is missing, is not a string or is unknown.
func checkFields(at string, fields map[string]any, want ...string) []string {
	var problems []string
	for _, name := range want {
		if text, ok := fields[name].(string); !ok || text == "" {
			problems = append(problems, fmt.Sprintf("%s: want %s, a string", at, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(want, name) {
			problems = append(problems, fmt.Sprintf("%s: unknown field %s; want %s", at, name, strings.Join(want, ", ")))
		}
	}
	return problems
}

func checkPackage(at string, fields map[string]any, version string) []string {
	problems := checkFields(at, fields, "packageName", version)
	if text, ok := fields[version].(string); ok && len(problems) == 0 {
		problems = checkRange(at+"."+version, text)
	}
	return problems
}

// constraints are the fields of a constraint of which exactly one is set.
var constraints = []string{"all", "any", "cel", "gvk", "not", "package"}

// checkConstraint returns the problems with a constraint and with its nested constraints.
func checkConstraint(at string, fields map[string]any) []string {
	var set, problems []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case slices.Contains(constraints, name):
			set = append(set, name)
		case name != "failureMessage":
			problems = append(problems, fmt.Sprintf("%s: unknown field %s", at, name))
		}
	}
	if len(set) != 1 {
		return append(problems, fmt.Sprintf("%s: want exactly one of %s, got %d", at, strings.Join(constraints, ", "), len(set)))
	}
	at += "." + set[0]
	below, ok := fields[set[0]].(map[string]any)
	if !ok {
		return append(problems, fmt.Sprintf("%s: want a mapping", at))
	}
	return append(problems, checkOne(at, set[0], below)...)
}

func checkOne(at, kind string, fields map[string]any) []string {
	switch kind {
	case "package":
		return checkPackage(at, fields, "versionRange")
	case "gvk":
		return checkFields(at, fields, "group", "version", "kind")
	case "cel":
		problems := checkFields(at, fields, "rule")
		if rule, ok := fields["rule"].(string); ok && len(problems) == 0 {
			problems = checkRule(at+".rule", rule)
		}
		return problems
	}
	list, ok := fields["constraints"].([]any)
	if !ok || len(list) == 0 {
		return []string{fmt.Sprintf("%s: want constraints, a list", at)}
	}
	var problems []string
	for i, one := range list {
		where := fmt.Sprintf("%s.constraints[%d]", at, i)
		fields, ok := one.(map[string]any)
		if !ok {
			problems = append(problems, where+": want a mapping")
			continue
		}
		problems = append(problems, checkConstraint(where, fields)...)
	}
	return problems
}

// checkRule compiles a CEL rule in the environment of constraints: the properties of a bundle, and a comparison of versions.
func checkRule(at, rule string) []string {
	env, err := cel.NewEnv(
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		cel.Function("semver_compare", cel.Overload("semver_compare_any_string", []*cel.Type{cel.DynType, cel.StringType}, cel.IntType)),
	)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", at, err)}
	}
	compiled, issues := env.Compile(rule)
	if issues.Err() != nil {
		return []string{fmt.Sprintf("%s: %v", at, issues.Err())}
	}
	if compiled.OutputType() != cel.BoolType {
		return []string{fmt.Sprintf("%s: the rule returns %s, want bool", at, compiled.OutputType())}
	}
	return nil
}
