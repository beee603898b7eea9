// Command podrequest runs an operator that manages a pod for each PodRequest object.
package main

import (
	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/podrequest/api/v1alpha1"
)

//go:generate operon generate --max-description=0

func main() {
	operon.Main("pod-operator",
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(PodRequest{}),
	)
}
