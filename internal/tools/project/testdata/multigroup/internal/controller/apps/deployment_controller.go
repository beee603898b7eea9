// Package apps looks after Deployments.
package apps

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments/status,verbs=get
// +kubebuilder:rbac:groups=sea.layout.test,resources=oceans,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=ship.layout.test,resources=frigates,verbs=get;list;watch;update

// +kubebuilder:webhook:path=/none,mutating=false,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=create,versions=v1,name=none.layout.test,admissionReviewVersions=v1

// Look is there so that the package is not empty.
func Look() {}
