package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// formerly lists former options of controller-gen's crd generator, and the effect of their removal.
var formerly = map[string]string{
	"trivialVersions":       "definitions of v1 have a schema for each version in any case",
	"preserveUnknownFields": "definitions of v1 never keep unknown fields, unless a marker says so",
	"crdVersions":           "v1beta1 is served by no Kubernetes since 1.22; definitions of v1 are generated",
}

// option is an option of a generator: NAME, NAME=VALUE or NAME={VALUE,VALUE}.
var option = regexp.MustCompile(`[^,{]+(\{[^}]*\})?`)

// inTodaysWords removes options that controller-gen had for v1beta1 definitions, which Makefiles from that time contain, and
// returns notes about them.
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
