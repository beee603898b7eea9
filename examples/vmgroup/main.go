// Command vmgroup runs an operator that manages groups of virtual machines in a vCenter.
package main

import (
	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/vmgroup/api/v1alpha1"
)

//go:generate operon generate --max-description=0

func main() {
	operon.Main("vmgroup-operator",
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(VMGroups{}),
	)
}
