package workload

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxRefusals is the maximum number of rejected values in one workload: each takes as long as another
// step, and shows more about the API server than about the operator.
const maxRefusals = 10

// refusing returns a workload with values that the API server has to reject. Each value has one step. The values cover as
// many kinds of errors as possible. It returns false if there are no such values.
func refusing(sample *unstructured.Unstructured, operations []operation, all, own []*unstructured.Unstructured) (Workload, bool) {
	w := Workload{Name: RefOf(sample).String() + ": invalid values", Steps: []Step{{Name: create, Apply: all}}}
	for _, further := range []bool{false, true} {
		sorts := map[string]bool{}
		for _, o := range operations {
			if o.sample != sample || o.Refused == nil || o.New == nil || len(w.Steps) > maxRefusals || has(w, o.step()) {
				continue
			}
			sort := sortOf(o.Refused)
			if further {
				sort = o.Path
			}
			if !sorts[sort] {
				sorts[sort] = true
				w.Steps = append(w.Steps, o.step())
			}
		}
	}
	refused := len(w.Steps) > 1
	w.Steps = append(w.Steps, Step{Name: remove, Delete: refsOf(own)})
	return w, refused
}

func has(w Workload, step Step) bool {
	for _, other := range w.Steps {
		if other.Name == step.Name {
			return true
		}
	}
	return false
}

var (
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'|\S*\d\S*`)
	field  = regexp.MustCompile(`^[^ ]*: `)
)

// sortOf returns the message of an error without field and values.
func sortOf(err error) string {
	return quoted.ReplaceAllString(field.ReplaceAllString(err.Error(), ""), "")
}
