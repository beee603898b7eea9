// Command site runs an operator that keeps a web site for each Site object, and that API servers ask
// before they store one.
package main

import (
	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
)

//go:generate go tool controller-gen object crd:maxDescLen=0 rbac:roleName=site-operator paths=./... output:crd:dir=config/crd output:rbac:dir=config/rbac

func main() {
	operon.Main("site-operator", operon.API(v1.AddToScheme), manageSites())
}

// manageSites is what the operator consists of.
func manageSites() operon.Part {
	return operon.Manage(Site{}, operon.Rules(operon.Rule{
		Check:   "object.spec.replicas <= 3 || has(namespaceObject.metadata.labels) && 'large-sites' in namespaceObject.metadata.labels",
		Message: "more than 3 replicas are for namespaces with the label large-sites",
	}))
}
