package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// JSON writes the report as an object, findings in order of their places.
func (r *Report) JSON(w io.Writer) error { return encode(w, r) }

func encode(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// object is an object in JSON.
type object = map[string]any

// SARIF writes a result for each finding, in the Static Analysis Results Interchange Format 2.1.0: for
// code scanning. Results of two runs with the same fingerprint are the same finding, though lines moved.
func (r *Report) SARIF(w io.Writer) error {
	var rules, results []object
	index := map[string]int{}
	for i, one := range Rules() {
		index[one.Name] = i
		rules = append(rules, object{
			"id": one.Name, "shortDescription": text(one.About), "fullDescription": text(one.Reason),
			"help": text(one.About + " " + one.Reason + " Fix: " + one.Fix), "defaultConfiguration": object{"level": levels[one.Severity]},
			"properties": object{"tags": []string{"kubernetes", "operator"}},
		})
	}
	results = []object{}
	same := map[string]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		results = append(results, result(f, index[f.Rule], same))
	}
	return encode(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "operon lint", "rules": rules}},
			"results": results, "columnKind": "unicodeCodePoints", "automationDetails": object{"id": "operon-doctor/"},
		}},
	})
}

// levels are SARIF's words.
var levels = map[rule.Severity]string{rule.Error: "error", rule.Warning: "warning", rule.Advice: "note"}

func text(words string) object { return object{"text": words} }

func resultText(f *Finding) string { return f.Message + ". " + f.Reason + " Fix: " + f.Fix }

// result is a finding. Its fingerprint has no line; of equal ones in a file, which it is.
func result(f *Finding, ruleIndex int, same map[string]int) object {
	key := f.Rule + "\n" + f.File + "\n" + f.Message
	same[key]++
	sum := sha256.Sum256([]byte(key + string(rune(same[key]))))
	return object{
		"ruleId": f.Rule, "ruleIndex": ruleIndex, "level": levels[f.Severity], "message": text(resultText(f)),
		"locations": []object{{"physicalLocation": object{
			"artifactLocation": object{"uri": (&url.URL{Path: f.File}).String()},
			"region":           object{"startLine": f.Line, "startColumn": f.Column},
		}}},
		"partialFingerprints": object{"operonFinding/v1": hex.EncodeToString(sum[:])},
	}
}
