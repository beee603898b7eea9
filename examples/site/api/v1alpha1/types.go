// Package v1alpha1 is the API of the group web.example.com before version 2 of the operator. It is served for clients that
// still use it.
//
// +kubebuilder:object:generate=true
// +groupName=web.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "web.example.com", Version: "v1alpha1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Site is a web site.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="web.example.com/v1alpha1 Site: use v1"
// +kubebuilder:printcolumn:name=URL,type=string,JSONPath=.status.url
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   SiteSpec      `json:"spec"`
	Status v1.SiteStatus `json:"status,omitempty"`
}

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	// Hostname is the DNS name of the site. It is immutable.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a site keeps its host: make another one"
	Hostname string `json:"hostname"`
	// Title is the title of the front page. Default: the host.
	Title string `json:"title,omitempty"`
	// Servers is the number of servers.
	//
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Servers int32 `json:"servers,omitempty"`
	// Pages are additional pages by path.
	Pages map[string]string `json:"pages,omitempty"`
}

// SiteList is a list of Sites.
//
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}
