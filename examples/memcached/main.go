// Command memcached runs an operator that keeps memcached servers for each Memcached
// object.
package main

import (
	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

//go:generate go tool controller-gen object crd:maxDescLen=0 rbac:roleName=memcached-operator paths=./... output:crd:dir=config/crd output:rbac:dir=config/rbac

func main() {
	operon.Main("memcached-operator",
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(Memcached{}),
	)
}
