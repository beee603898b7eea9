// Package v1 has a kind for each sort of marker.
// +kubebuilder:object:generate=true
// +groupName=every.test
package v1
