package generate

import (
	"errors"
	"fmt"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// problemsIn are the errors that loading and generating left with the packages.
//
// Type errors are left out: most come of types that no generator asked for and that were
// therefore never loaded.
func problemsIn(roots []*loader.Package) error {
	raw := make([]*packages.Package, len(roots))
	for i, root := range roots {
		raw[i] = root.Package
	}
	var problems []error
	told := map[string]bool{}
	packages.Visit(raw, nil, func(found *packages.Package) {
		for _, problem := range found.Errors {
			text := fmt.Sprintf("%s: %s", problem.Pos, problem.Msg)
			if problem.Kind == packages.TypeError || told[text] {
				continue
			}
			told[text] = true
			problems = append(problems, errors.New(text))
		}
	})
	return errors.Join(problems...)
}
