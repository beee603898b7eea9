package operators

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Need is what it takes until a mistake shows.
type Need string

// Needs, from the simplest on.
const (
	// Create: the samples are enough.
	Create Need = "create"
	// Delete: the samples are deleted.
	Delete Need = "delete"
	// Change: a field of the spec becomes another value, and what it was.
	Change Need = "change"
	// ChangeOther: another object of the samples changes.
	ChangeOther Need = "change another sample"
	// Drift: somebody changes or deletes a child.
	Drift Need = "drift"
	// Fail: the pods do not become ready.
	Fail Need = "failing pods"
	// Kill: the operator ends between two writes.
	Kill Need = "kill"
	// Answer: a request is answered with an error, with or without effect.
	Answer Need = "error response"
	// Freeze: caches show the past, where needed after a restart.
	Freeze Need = "stale cache"
	// Cut: a watch ends.
	Cut Need = "cut watch"
	// Expire: the token is replaced by another.
	Expire Need = "expired token"
	// Two: a second instance runs.
	Two Need = "two instances"
	// Role: the operator runs with the rights of its role.
	Role Need = "RBAC"
)

// Operator is one operator of the gallery.
type Operator struct {
	// Name is the operator's, also for the command line.
	Name string `json:"name"`
	// Correct: there is no mistake.
	Correct bool `json:"correct,omitempty"`
	// About is the mistake in one sentence, or what is done right.
	About string `json:"about"`
	// Model is the published class of mistakes, or the operator that had one like it.
	Model string `json:"model,omitempty"`
	// Class is the kind of mistake.
	Class finding.Class `json:"class,omitempty"`
	// Property is the invariant that is violated. A finding about another one is a miss, unless it is one of Also: Both says why
	// the same bug violates these, too.
	Property finding.Property   `json:"property,omitempty"`
	Also     []finding.Property `json:"also,omitempty"`
	Both     string             `json:"both,omitempty"`
	// Needs is what has to happen until it shows, together.
	Needs []Need `json:"needs,omitempty"`
	// CRDs, Samples and Role are files below the gallery's folder. The Role is empty where an
	// administrator's rights do.
	CRDs    []string `json:"crds"`
	Samples string   `json:"samples"`
	Role    string   `json:"role,omitempty"`
	// Elects: it runs with leader election, unless told otherwise.
	Elects bool `json:"elects,omitempty"`
	// Wide: it works for kinds without a namespace, so that one cluster has room for one.
	Wide bool `json:"wide,omitempty"`
	// Setup adds the operator to a manager. It may be called any number of times in a process.
	Setup func(ctrl.Manager) error `json:"-"`
}

// Options are those of a manager for the operator: a scheme with what it needs, and no ports. Its
// cache is of one namespace, or of all where that is empty.
func (o Operator) Options(namespace string) ctrl.Options {
	options := ctrl.Options{
		Scheme:                        Scheme(),
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:        "0",
		LeaderElection:                o.Elects,
		LeaderElectionID:              "gallery-" + o.Name,
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		Controller:                    config.Controller{SkipNameValidation: ptr.To(true)},
	}
	if namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options
}

// Scheme returns a new scheme with the kinds of the gallery and those of Kubernetes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.Add} {
		if err := add(scheme); err != nil {
			panic(err) // types that do not fit together: a mistake in the program
		}
	}
	return scheme
}

// Find returns the operator of a name.
func Find(name string) (Operator, error) {
	for _, o := range All() {
		if o.Name == name {
			return o, nil
		}
	}
	return Operator{}, fmt.Errorf("there is no operator %q in the gallery", name)
}

// files of the kinds.
var (
	apps    = []string{"config/crd/apps.yaml"}
	stores  = []string{"config/crd/stores.yaml"}
	backups = []string{"config/crd/backups.yaml"}
	sites   = []string{"config/crd/sites.yaml"}
	tenants = []string{"config/crd/tenants.yaml"}
)
