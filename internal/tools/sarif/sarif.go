// Package sarif writes results for code scanning, in the Static Analysis Results Interchange Format 2.1.0. It supports what
// the commands of this project need: the rules of one tool, and results with a place, a message and a fingerprint that is the
// same in every run.
package sarif

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"slices"
)

// Object is a JSON object.
type Object = map[string]any

// Levels of rules and results.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Rule is a rule to which results refer.
type Rule struct {
	ID, Short, Full, Help string
	// Level is the default level of its results.
	Level string
	Tags  []string
}

// Result is one finding. Results of two runs with the same Key are the same finding.
type Result struct {
	// Rule is the ID of a rule of the run.
	Rule, Level, Message, Key string
	Locations                 []Object
	// Suppressed is the reason why the result does not count. If it is empty, the result counts.
	Suppressed string
	// Properties are additional properties for readers that know them. They may be nil.
	Properties Object
}

// Run holds the results of one run of a tool.
type Run struct {
	// Tool is the name of the tool, and ID the kind of run, with a slash at the end.
	Tool, ID string
	// Columns is the unit of columns in places: "utf16CodeUnits" or "unicodeCodePoints".
	Columns string
	Rules   []Rule
	Results []Result
	// More holds additional fields of the run, such as "invocations".
	More Object
}

// Write writes a log that contains only this run.
func (r *Run) Write(w io.Writer) error {
	rules, results := []Object{}, []Object{}
	for _, one := range r.Rules {
		rules = append(rules, Object{
			"id": one.ID, "shortDescription": text(one.Short), "fullDescription": text(one.Full), "help": text(one.Help),
			"defaultConfiguration": Object{"level": one.Level}, "properties": Object{"tags": one.Tags},
		})
	}
	for _, one := range r.Results {
		sum := sha256.Sum256([]byte(one.Key))
		result := Object{
			"ruleId": one.Rule, "ruleIndex": slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.ID == one.Rule }),
			"level": one.Level, "message": text(one.Message),
			"partialFingerprints": Object{"operonFinding/v1": hex.EncodeToString(sum[:])},
		}
		if len(one.Locations) > 0 {
			result["locations"] = one.Locations
		}
		if one.Suppressed != "" {
			result["suppressions"] = []Object{{"kind": "external", "justification": one.Suppressed}}
		}
		if one.Properties != nil {
			result["properties"] = one.Properties
		}
		results = append(results, result)
	}
	run := Object{
		"tool": Object{"driver": Object{"name": r.Tool, "rules": rules}}, "results": results,
		"columnKind": r.Columns, "automationDetails": Object{"id": r.ID},
	}
	for name, value := range r.More {
		run[name] = value
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(Object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []Object{run}})
}

func text(words string) Object { return Object{"text": words} }

// File returns the location of a file, as in "artifactLocation".
func File(path string) Object { return Object{"uri": (&url.URL{Path: path}).String()} }

// Physical returns a location in a file; region contains its line.
func Physical(path string, region Object) Object {
	return Object{"artifactLocation": File(path), "region": region}
}
