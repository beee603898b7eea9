package ansible_test

import (
	"fmt"
	"os"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
)

func ExampleEngine() {
	watches, err := engine.Read("testdata/stall/watches.yaml", &ansible.Engine{Verbosity: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, watch := range watches {
		fmt.Println(watch.Kind.Kind, watch.Engine())
	}
	// Output:
	// Stall ansible
}
