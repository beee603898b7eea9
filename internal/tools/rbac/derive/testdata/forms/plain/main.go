// Command plain has no composer.
package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon"
)

// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list
// +kubebuilder:rbac:groups=core,namespace=own,resources=secrets,verbs=get
// +kubebuilder:rbac:urls=/metrics,verbs=get

func main() { operon.Main("plain-operator", operon.Setup(func(ctrl.Manager) error { return nil })) }
