package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// formerly are options of controller-gen's crd generator that it had once, and the result of them.
var formerly = map[string]string{
	"trivialVersions":       "definitions of v1 have a schema for each version in any case",
	"preserveUnknownFields": "definitions of v1 never keep unknown fields, unless a marker says so",
	"crdVersions":           "v1beta1 is served by no Kubernetes since 1.22; definitions of v1 are generated",
}

// option is an option of a generator: NAME, NAME=VALUE or NAME={VALUE,VALUE}.
var option = regexp.MustCompile(`[^,{]+(\{[^}]*\})?`)

// inTodaysWords leaves out the options that controller-gen had when definitions were of v1beta1, as Makefiles
// of that time have them, and says so.
func inTodaysWords(arguments []string) (understood, notes []string) {
	for _, argument := range arguments {
		if options, is := strings.CutPrefix(argument, "crd:"); is {
			kept := slices.DeleteFunc(option.FindAllString(options, -1), func(one string) bool {
				name, value, _ := strings.Cut(one, "=")
				reason, old := formerly[name]
				if !old || name == "crdVersions" && !strings.Contains(value, "v1beta1") {
					return false
				}
				notes = append(notes, fmt.Sprintf("%s in the Makefile has no effect any more: %s", name, reason))
				return true
			})
			argument = strings.TrimSuffix("crd:"+strings.Join(kept, ","), ":")
		}
		understood = append(understood, argument)
	}
	return understood, notes
}
