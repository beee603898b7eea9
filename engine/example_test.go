package engine_test

import (
	"fmt"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
)

// The entries of watches.yaml become options of an operator, beside those of composers in Go.
func Example() {
	watches, err := engine.Read("helm/testdata/till/watches.yaml", helm.Engine{})
	if err != nil {
		fmt.Println(err)
		return
	}
	options, err := engine.Options(watches)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(watches[0].Kind.Kind, "by", watches[0].Engine(), "is", len(options), "options of operon.Main")
	// Output: Till by helm is 3 options of operon.Main
}
