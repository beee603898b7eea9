// Command vmgroup runs an operator that keeps groups of virtual machines in a vCenter.
package main

import (
	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/vmgroup/api/v1alpha1"
)

//go:generate go tool controller-gen object crd:maxDescLen=0 rbac:roleName=vmgroup-operator paths=./... output:crd:dir=config/crd output:rbac:dir=config/rbac

func main() {
	operon.Main("vmgroup-operator",
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(VMGroups{}),
	)
}
