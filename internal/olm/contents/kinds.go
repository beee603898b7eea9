package contents

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// kind is a kind of objects that bundles may contain.
type kind struct {
	group string
	// typed returns an empty object of the only version that API servers serve. It is nil for a kind that exists only in clusters with its
	// CustomResourceDefinition.
	typed func() any
	// cluster means that the kind has no namespace.
	cluster bool
}

const (
	monitoring = "monitoring.coreos.com"
	console    = "console.openshift.io"
)

// kinds are the kinds that bundles may contain, in addition to the ClusterServiceVersion and CustomResourceDefinitions.
var kinds = map[string]kind{
	"ClusterRole":           {rbacv1.GroupName, func() any { return new(rbacv1.ClusterRole) }, true},
	"ClusterRoleBinding":    {rbacv1.GroupName, func() any { return new(rbacv1.ClusterRoleBinding) }, true},
	"ConfigMap":             {corev1.GroupName, func() any { return new(corev1.ConfigMap) }, false},
	"ConsoleCLIDownload":    {console, nil, true},
	"ConsoleLink":           {console, nil, true},
	"ConsolePlugin":         {console, nil, true},
	"ConsoleQuickStart":     {console, nil, true},
	"ConsoleYAMLSample":     {console, nil, true},
	"NetworkPolicy":         {networkingv1.GroupName, func() any { return new(networkingv1.NetworkPolicy) }, false},
	"PodDisruptionBudget":   {policyv1.GroupName, func() any { return new(policyv1.PodDisruptionBudget) }, false},
	"PodMonitor":            {monitoring, nil, false},
	"PriorityClass":         {schedulingv1.GroupName, func() any { return new(schedulingv1.PriorityClass) }, true},
	"PrometheusRule":        {monitoring, nil, false},
	"Role":                  {rbacv1.GroupName, func() any { return new(rbacv1.Role) }, false},
	"RoleBinding":           {rbacv1.GroupName, func() any { return new(rbacv1.RoleBinding) }, false},
	"Secret":                {corev1.GroupName, func() any { return new(corev1.Secret) }, false},
	"Service":               {corev1.GroupName, func() any { return new(corev1.Service) }, false},
	"ServiceAccount":        {corev1.GroupName, func() any { return new(corev1.ServiceAccount) }, false},
	"ServiceMonitor":        {monitoring, nil, false},
	"VerticalPodAutoscaler": {"autoscaling.k8s.io", nil, false},
}

// Kinds returns the kinds that bundles may contain, in addition to the ClusterServiceVersion and CustomResourceDefinitions, in order.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }
