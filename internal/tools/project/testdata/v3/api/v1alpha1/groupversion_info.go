// Package v1alpha1 is version v1alpha1 of the group jobs.layout.test.
// +kubebuilder:object:generate=true
// +groupName=jobs.layout.test
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion is the group and version of these types.
	GroupVersion = schema.GroupVersion{Group: "jobs.layout.test", Version: "v1alpha1"}
	// SchemeBuilder collects them.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}
	// AddToScheme makes them known.
	AddToScheme = SchemeBuilder.AddToScheme
)
