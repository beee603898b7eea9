// Package v1alpha1 contains the kinds of operators.coreos.com/v1alpha1 that the manager serves: ClusterServiceVersion, Subscription, InstallPlan and CatalogSource.
//
// The fields are those that published bundles use. Parts whose structure belongs to another API, such as the spec of a Deployment, are kept
// as they are and decoded where they are used, so that one object with a mistake does not prevent the others from being read.
//
// +kubebuilder:object:generate=true
// +groupName=operators.coreos.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool controller-gen object crd:maxDescLen=0 paths=../... output:crd:dir=../../../../olm/config/crd

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "operators.coreos.com", Version: "v1alpha1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ClusterServiceVersion{}, &ClusterServiceVersionList{}, &Subscription{}, &SubscriptionList{},
		&InstallPlan{}, &InstallPlanList{}, &CatalogSource{}, &CatalogSourceList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
