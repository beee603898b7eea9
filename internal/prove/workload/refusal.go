package workload

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxRefusals bounds the values of one workload that are refused: one takes as long as another
// step, and tells of the API server more than of the operator.
const maxRefusals = 10

// refusing is a workload of values that the API server has to refuse, one step for each, of as many
// sorts as there are.
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

// sortOf is an error without field and values.
func sortOf(err error) string {
	return quoted.ReplaceAllString(field.ReplaceAllString(err.Error(), ""), "")
}
