package crd

import (
	"regexp"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// What makes a variant promising.
const (
	ifWithout = 15
	ifBlock   = 20
	ifKey     = 10
	ifItem    = 15
	ifOrder   = -10
	// below is what each level costs, from the second below spec.
	below = 6
	// scales is what the field promises that scaling is about.
	scales = 60
)

// names are parts of fields' names that tell of something to do, with what they promise.
var names = []struct {
	part    string
	promise int
}{
	{"replicas", 50}, {"size", 40}, {"count", 35}, {"nodes", 35}, {"instances", 35}, {"members", 35}, {"shards", 35},
	{"image", 40}, {"version", 40}, {"enabled", 35}, {"paused", 30}, {"suspend", 30}, {"storage", 30}, {"resources", 25},
	{"config", 30}, {"port", 30}, {"service", 25}, {"tls", 30}, {"backup", 25}, {"mode", 25}, {"type", 20},
	{"strategy", 20}, {"labels", 15}, {"annotations", 15}, {"env", 20}, {"command", 15}, {"args", 20},
}

// telling reports whether a field's name makes it worth looking at in a block with many.
func telling(name string) bool {
	return slices.Contains([]string{"image", "replicas", "resources", "env", "args", "nodeSelector", "serviceAccountName", "template", "containers"}, name)
}

// promiseOf is what a change of a field promises.
func promiseOf(here path, of *structural.Structural, kind *Kind) int {
	name := strings.ToLower(here.last())
	promise := 20
	for _, known := range names {
		if strings.Contains(name, known.part) {
			promise = known.promise
			break
		}
	}
	if here.String() == kind.ScalePath {
		promise += scales
	}
	if of != nil && kindOf(of) == "boolean" {
		promise += 15
	}
	return promise - below*max(0, len(here)-2)
}

// compile compiles a pattern of a schema.
func compile(pattern string) (*regexp.Regexp, error) { return regexp.Compile(pattern) }

// keep are the texts that match.
func keep(texts []any, matching *regexp.Regexp) []any {
	return slices.DeleteFunc(texts, func(text any) bool {
		written, ok := text.(string)
		return ok && !matching.MatchString(written)
	})
}
