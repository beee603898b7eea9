// Package webhook has webhooks and permissions.
package webhook

// +kubebuilder:webhookconfiguration:mutating=true,name=every-mutating
// +kubebuilder:webhookconfiguration:mutating=false,name=every-validating

// +kubebuilder:webhook:path=/mutate-every-test-v1-numbers,mutating=true,failurePolicy=fail,sideEffects=None,groups=every.test,resources=numberses,verbs=create;update,versions=v1,name=mnumbers.every.test,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,timeoutSeconds=7
// +kubebuilder:webhook:path=/validate-every-test-v1-numbers,mutating=false,failurePolicy=ignore,matchPolicy=Exact,sideEffects=NoneOnDryRun,groups=every.test,resources=numberses;numberses/status,verbs=create;update;delete,versions=v1;v2,name=vnumbers.every.test,admissionReviewVersions=v1;v1beta1,webhookVersions=v1,serviceName=hooks,serviceNamespace=every,servicePort=8443
// +kubebuilder:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs="*",versions=v1,name=vpods.every.test,admissionReviewVersions=v1,url="https://hooks.every.test/pods",patch=`{"namespaceSelector":{"matchLabels":{"every.test/checked":"true"}}}`

// +kubebuilder:rbac:groups=every.test,resources=numberses;texts,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=every.test,resources=numberses/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=every.test,resources=texts/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=apps;extensions,resources=deployments,verbs=get;list
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=watch
// +kubebuilder:rbac:groups=core,resources=pods,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=every-settings,verbs=get
// +kubebuilder:rbac:groups="",namespace=every,resources=secrets,verbs=get;list
// +kubebuilder:rbac:groups="",namespace=other,roleName=reader,resources=secrets,verbs=get
// +kubebuilder:rbac:urls=/metrics;/healthz,verbs=get

// Serve is there so that the package is not empty.
func Serve() {}
