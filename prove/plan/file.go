package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/prove/fault"
)

// file is what a plan file holds.
type file struct {
	Format string `json:"format"`
	Plan   `json:",inline"`
}

// Write returns a plan as a file.
func Write(p Plan) ([]byte, error) {
	return yaml.Marshal(file{Format, p})
}

// Read reads a plan file, in YAML or JSON.
//
// Guarantees: what is returned without an error can be carried out: its format is [Format], it has
// no field that is not known, a workload that can be carried out, and faults that are possible.
func Read(text []byte) (Plan, error) {
	var head struct {
		Format string `json:"format"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return Plan{}, fmt.Errorf("this is no plan file: %w", clear(err, text))
	}
	switch head.Format {
	case Format:
	case "":
		return Plan{}, fmt.Errorf("this is no plan file: it does not say format: %s", Format)
	default:
		return Plan{}, fmt.Errorf("the plan has the format %q, this program reads %q: make the plan again", head.Format, Format)
	}
	var read file
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		return Plan{}, fmt.Errorf("the plan cannot be read: %w", clear(err, text))
	}
	_, err := fault.NewScript(read.Faults...)
	if err := errors.Join(read.Workload.Validate(), err); err != nil {
		return Plan{}, fmt.Errorf("the plan cannot be carried out: %s", oneLine(err))
	}
	return read.Plan, nil
}

var unknown = regexp.MustCompile(`unknown field "([^"]+)"`)

// clear is an error of a parser, with the line where that can be found, and without the parser's own
// names.
func clear(err error, text []byte) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", 1+strings.Count(string(text[:min(int(syntax.Offset), len(text))]), "\n"), err)
	}
	if found := unknown.FindStringSubmatch(err.Error()); found != nil {
		field := found[1][strings.LastIndex(found[1], ".")+1:]
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, ` -"`), field) {
				return fmt.Errorf("line %d: there is no field %q", i+1, found[1])
			}
		}
		return fmt.Errorf("there is no field %q", found[1])
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(oneLine(err), "error converting YAML to JSON: "), "error unmarshaling JSON: "))
}

var breaks = regexp.MustCompile(`:?\n\s*`)

// oneLine is an error in one line.
func oneLine(err error) string { return breaks.ReplaceAllString(err.Error(), "; ") }
