package deploy

import (
	"slices"
	"testing"
)

// The author's own arguments come after the arguments that configure the operator's environment.
func TestArguments(t *testing.T) {
	t.Parallel()
	options := Options{Image: "postgres-operator:1", Args: []string{"--postgres-image=example.com/postgres"}}
	options.Dir = "../../../examples/postgres"
	_, made, err := options.operator()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(made.Args, options.Args) {
		t.Errorf("the operator's arguments are %q", made.Args)
	}
}
