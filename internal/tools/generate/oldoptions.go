package generate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// formerly are options of controller-gen's crd generator that it had once, and what became of them.
var formerly = map[string]string{
	"trivialVersions":       "definitions of v1 have a schema for each version in any case",
	"preserveUnknownFields": "definitions of v1 never keep unknown fields, unless a marker says so",
	"crdVersions":           "v1beta1 is served by no Kubernetes since 1.22; definitions of v1 are generated",
}

// inTodaysWords leaves out the options that controller-gen had when definitions were of v1beta1, as Makefiles
// of that time have them, and says so.
func inTodaysWords(arguments []string) (understood, notes []string) {
	for _, argument := range arguments {
		options := project.Marker{Text: argument}.Arguments("crd")
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if reason, old := formerly[name]; old && (name != "crdVersions" || strings.Contains(options[name], "v1beta1")) {
				delete(options, name)
				notes = append(notes, fmt.Sprintf("%s in the Makefile has no effect any more: %s", name, reason))
				argument = joined("crd", options)
			}
		}
		understood = append(understood, argument)
	}
	return understood, notes
}

// joined writes an argument with its options again.
func joined(name string, options map[string]string) string {
	var all []string
	for _, option := range slices.Sorted(maps.Keys(options)) {
		all = append(all, option+"="+options[option])
	}
	if len(all) == 0 {
		return name
	}
	return name + ":" + strings.Join(all, ",")
}
