// Command site runs an operator that manages a web site for each Site object, and serves admission webhooks for Sites. It
// serves two versions of its API.
package main

import (
	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
	"github.com/operon-framework/operon/examples/site/api/v1alpha1"
)

// version is the version of the operator. Sites that an older version managed are upgraded: see upgrade.go.
const version = "2.0.0"

//go:generate operon generate --max-description=0

func main() {
	operon.Main("site-operator", parts()...)
}

// parts returns the parts of the operator.
func parts() []operon.Option {
	rule := operon.Rule{
		Check:   "object.spec.replicas <= 3 || has(namespaceObject.metadata.labels) && 'large-sites' in namespaceObject.metadata.labels",
		Message: "more than 3 replicas are for namespaces with the label large-sites",
	}
	return []operon.Option{
		operon.Version(version),
		operon.API(v1.AddToScheme),
		operon.API(v1alpha1.AddToScheme), // so it can be converted
		operon.Manage(Site{}, operon.Rules(rule), operon.MigrateStorage()),
	}
}
