package crd

import (
	"regexp"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Parts of the promise of a variant.
const (
	ifWithout = 15
	ifBlock   = 20
	ifKey     = 10
	ifItem    = 15
	ifOrder   = -10
	// below is subtracted for each level, from the second below spec.
	below = 6
	// scales is added for the field that scaling changes.
	scales = 60
)

// names contains parts of field names that suggest work for the operator, with their promise.
var names = []struct {
	part    string
	promise int
}{
	{"replicas", 50}, {"size", 40}, {"count", 35}, {"nodes", 35}, {"instances", 35}, {"members", 35}, {"shards", 35},
	{"image", 40}, {"version", 40}, {"enabled", 35}, {"paused", 30}, {"suspend", 30}, {"storage", 30}, {"resources", 25},
	{"config", 30}, {"port", 30}, {"service", 25}, {"tls", 30}, {"backup", 25}, {"mode", 25}, {"type", 20},
	{"strategy", 20}, {"labels", 15}, {"annotations", 15}, {"env", 20}, {"command", 15}, {"args", 20},
}

// telling reports whether the name of a field makes it worth changing in a block with many fields.
func telling(name string) bool {
	return slices.Contains([]string{"image", "replicas", "resources", "env", "args", "nodeSelector", "serviceAccountName", "template", "containers"}, name)
}

// promiseOf returns the promise of a change of a field.
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

// keep returns the texts that match.
func keep(texts []any, matching *regexp.Regexp) []any {
	return slices.DeleteFunc(texts, func(text any) bool {
		written, ok := text.(string)
		return ok && !matching.MatchString(written)
	})
}
