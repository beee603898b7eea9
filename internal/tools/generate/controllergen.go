package generate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// understood lists the generators that controller-gen's arguments can select here.
var understood = map[string]genall.Generator{
	"object":      deepcopy.Generator{},
	"crd":         crd.Generator{},
	"rbac":        rbac.Generator{},
	"webhook":     webhook.Generator{},
	"schemapatch": schemapatcher.Generator{},
}

// applies is the generator that cannot be selected: it writes each file immediately.
const applies = "applyconfiguration"

// places lists the output rules of controller-gen's arguments.
var places = map[string]genall.OutputRule{
	"dir":       genall.OutputToDirectory(""),
	"artifacts": genall.OutputArtifacts{},
	"none":      genall.OutputToNothing,
}

// vocabulary returns controller-gen's arguments, which have the form of markers.
func vocabulary() *markers.Registry {
	all := &markers.Registry{}
	define := func(name string, value any) {
		if err := all.Register(markers.Must(markers.MakeDefinition(name, markers.DescribesPackage, value))); err != nil {
			panic(err) // a duplicate name
		}
	}
	define("paths", genall.InputPaths(nil))
	for rule, place := range places {
		define("output:"+rule, place)
		for name := range understood {
			define("output:"+name+":"+rule, place)
		}
	}
	for name, generator := range understood {
		define(name, generator)
	}
	return all
}

// asControllerGen returns the run that one command line of controller-gen specifies.
func asControllerGen(arguments []string) (run, error) {
	all := vocabulary()
	asked := run{tags: buildTags(nil), crosses: true}
	rules := map[string]genall.OutputRule{}
	for _, argument := range arguments {
		if tags, is := strings.CutPrefix(argument, "--load-build-tags="); is {
			asked.tags = tags
			continue
		}
		value, name, err := meaning(all, argument)
		if err != nil {
			return run{}, err
		}
		switch value := value.(type) {
		case genall.InputPaths:
			asked.paths = append(asked.paths, value...)
		case genall.Generator:
			asked.jobs = append(asked.jobs, job{name: name, generator: value})
		case genall.OutputRule:
			rules[ruleOf(name)] = value
		}
	}
	for i := range asked.jobs {
		asked.jobs[i].place(rules)
	}
	asked.jobs = slices.DeleteFunc(asked.jobs, func(j job) bool { return j.nowhere })
	return asked, nil
}

// meaning parses one argument and returns its value and the name of its definition.
func meaning(all *markers.Registry, argument string) (value any, name string, err error) {
	definition := all.Lookup("+"+argument, markers.DescribesPackage)
	if definition == nil && strings.HasPrefix(argument, applies) {
		return nil, "", fmt.Errorf("controller-gen's argument %q: apply configurations are not generated as controller-gen does; move the argument to a separate target, or use `operon generate --clients`", argument)
	}
	if definition == nil {
		return nil, "", fmt.Errorf("controller-gen's argument %q is not known: want one of %s", argument, strings.Join(allNames(), ", "))
	}
	value, err = definition.Parse("+" + argument)
	if err != nil {
		return nil, "", fmt.Errorf("controller-gen's argument %q: %w", argument, err)
	}
	return value, definition.Name, nil
}

func allNames() []string {
	names := []string{"paths", "output"}
	for name := range understood {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ruleOf returns the generator in "output:GENERATOR:RULE", or "" for "output:RULE".
func ruleOf(name string) string {
	if parts := strings.Split(name, ":"); len(parts) == 3 {
		return parts[1]
	}
	return ""
}

// place sets the output of the job. Without a rule, it is its own directory below config.
func (j *job) place(rules map[string]genall.OutputRule) {
	rule, special := rules[j.name]
	if !special {
		rule = rules[""]
	}
	switch rule := rule.(type) {
	case nil:
		j.config = filepath.Join("config", j.name)
	case genall.OutputToDirectory:
		j.config, j.code = string(rule), string(rule)
	case genall.OutputArtifacts:
		j.config, j.code = string(rule.Config), string(rule.Code)
	default:
		j.nowhere = true
	}
}
