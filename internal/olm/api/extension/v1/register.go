// Package v1 contains the kinds of olm.operatorframework.io/v1 that the manager serves: ClusterCatalog and ClusterExtension.
//
// +kubebuilder:object:generate=true
// +groupName=olm.operatorframework.io
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "olm.operatorframework.io", Version: "v1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ClusterCatalog{}, &ClusterCatalogList{}, &ClusterExtension{}, &ClusterExtensionList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Types of conditions. A ClusterCatalog has Progressing and Serving, and a ClusterExtension all but Serving.
const (
	Progressing       = "Progressing"
	Serving           = "Serving"
	Installed         = "Installed"
	Deprecated        = "Deprecated"
	PackageDeprecated = "PackageDeprecated"
	ChannelDeprecated = "ChannelDeprecated"
	BundleDeprecated  = "BundleDeprecated"
)

// Reasons of conditions.
const (
	ReasonSucceeded                = "Succeeded"
	ReasonRollingOut               = "RollingOut"
	ReasonRetrying                 = "Retrying"
	ReasonBlocked                  = "Blocked"
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	ReasonFailed                   = "Failed"
	ReasonAbsent                   = "Absent"
	ReasonAvailable                = "Available"
	ReasonUnavailable              = "Unavailable"
	ReasonUserSpecifiedUnavailable = "UserSpecifiedUnavailable"
	ReasonDeprecated               = "Deprecated"
	ReasonNotDeprecated            = "NotDeprecated"
	ReasonDeprecationUnknown       = "DeprecationStatusUnknown"
)
