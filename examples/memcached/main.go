// Command memcached runs an operator that manages memcached servers for each Memcached object.
package main

import (
	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

//go:generate operon generate --max-description=0

func main() {
	operon.Main("memcached-operator",
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(Memcached{}),
	)
}
