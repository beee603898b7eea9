package main

// The permissions that do not follow from the code. The manager grants the permissions that bundles ask for, so it needs the verbs escalate
// and bind: it cannot have all that any operator asks for.
//
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;clusterroles,verbs=create;delete;get;list;patch;watch;escalate;bind
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings;clusterrolebindings,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=installplans;subscriptions;clusterserviceversions;operatorconditions,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=installplans/finalizers;subscriptions/finalizers;clusterserviceversions/finalizers,verbs=update
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=create;get;list;patch;watch
//
// It registers the webhooks and API services of operators. Services and Secrets with certificates are among the objects of bundles below: RBAC
// cannot limit Secrets to those with a label, but the manager only reads and caches those with its own.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,verbs=create;delete;get;list;patch;watch
//
// The Deployments of operators are made from ClusterServiceVersions.
//
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;delete;get;list;patch;watch
//
// It asks the API server what the ServiceAccounts of operators may do, and what its own name is: it grants itself the permission to list the
// objects of a kind while it checks whether they survive a change of their CustomResourceDefinition.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=selfsubjectreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
//
// Other objects that bundles contain, and what the manager makes of their ClusterServiceVersions.
//
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets;serviceaccounts;services,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=autoscaling.k8s.io,resources=verticalpodautoscalers,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors;podmonitors;prometheusrules,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=console.openshift.io,resources=consoleclidownloads;consolelinks;consoleplugins;consolequickstarts;consoleyamlsamples,verbs=create;delete;get;list;patch;watch
