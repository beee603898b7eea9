// Package markers has a Role that is generated from markers, whose rules are merged.
package markers

import (
	appsv1 "k8s.io/api/apps/v1"
)

// Kind is used.
func Kind() *appsv1.Deployment { return &appsv1.Deployment{} }

// +kubebuilder:rbac:groups=core,resources=secrets,verbs=get,namespace=system
// +kubebuilder:rbac:groups=core,resources=configmaps;secrets,verbs=create
// +kubebuilder:rbac:groups=core,resources=secrets,resourceNames=one,verbs=get;list;watch
// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=core,resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=get
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=escalate
// +kubebuilder:rbac:groups=example.com,resources=webs,verbs=get
// +kubebuilder:rbac:groups=example.com,resources=*,verbs=get
// +kubebuilder:rbac:groups=core,resources=pods,verbs=create
// +kubebuilder:rbac:groups=core,resources=pods/exec,verbs=create
// +kubebuilder:rbac:urls=/metrics,verbs=get
// +kubebuilder:rbac:urls=*,verbs=get
