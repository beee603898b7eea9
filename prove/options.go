package prove

import (
	"errors"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/accept"
	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Options are the options of a session.
type Options struct {
	// Name is the display name of the operator. Command is the command that starts it, if it is a program.
	Name    string
	Command []string
	// Operator is the operator under test.
	Operator runner.Operator
	// Config is an administrator's connection to the cluster on which the operator is tested.
	Config *rest.Config
	// Disposable states that the cluster is discarded afterwards, so that nothing has to be removed from it first.
	Disposable bool
	// CRDs are the CRDs of the operator. Samples are objects of these kinds that the operator can reconcile, with
	// the objects that they refer to.
	CRDs, Samples []*unstructured.Unstructured
	// Setup are objects that exist in each sandbox before the operator starts.
	Setup []*unstructured.Unstructured
	// Webhooks are the webhook configurations that belong to the operator. Neither these webhooks nor those
	// in Setup are called, and the report states so.
	Webhooks []*unstructured.Unstructured
	// Grants are the permissions of the operator. Nil: all permissions, and permissions are not checked.
	Grants []project.Grant
	// Workloads are run in addition to those that are derived from the samples.
	Workloads []workload.Workload
	// Namespace is the only namespace in which the operator can run. Plans then run one at a time.
	Namespace string
	// Plans is the maximum number of plans. Default: [DefaultPlans].
	Plans int
	// Budget is the time in which plans are started. Default: [DefaultBudget]. Plans that have started are
	// completed, and their findings are confirmed.
	Budget time.Duration
	// Seed chooses between plans of equal priority.
	Seed int64
	// Workers is the number of plans that run at the same time. Default: three times the number of processors, at most
	// 32, because an operator spends most of a plan waiting.
	Workers int
	// Settle is how long an operator must be quiescent in a run without faults to count as converged. Default:
	// [DefaultSettle].
	Settle time.Duration
	// FailFast starts no further plan after the first finding that is not flaky.
	FailFast bool
	// Accept lists the findings that are accepted; nil: none.
	Accept *accept.List
	// Witness watches the cluster, if several sessions share one. By default, a session has its own.
	Witness *clusterwatch.Witness
	// Turns limits how many runs are active at the same time, if several sessions share a cluster.
	Turns runner.Turns
	// Folder is the directory for files that are needed while plans run.
	Folder string
	// Observe is called with the progress whenever it changes. It must return quickly.
	Observe func(report.Standing)
}

// mostWorkers is the default maximum of Options.Workers: each worker runs an operator with its caches.
const mostWorkers = 32

// Default values.
const (
	// The defaults of the fields Plans, Budget and Settle of Options.
	DefaultPlans  = 200
	DefaultBudget = 2 * time.Minute
	DefaultSettle = time.Second
)

var errNoSamples = errors.New("no samples: add objects of the operator's kinds to config/samples")

// observe reports the current activity before there are plans.
func (o Options) observe(what string) {
	if o.Observe != nil {
		o.Observe(report.Standing{Now: time.Now(), At: what})
	}
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Operator == nil:
		return o, errors.New("no operator to test")
	case o.Config == nil:
		return o, errors.New("no cluster to test the operator on")
	case len(o.Samples) == 0:
		return o, errNoSamples
	}
	if o.Plans <= 0 {
		o.Plans = DefaultPlans
	}
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.Settle <= 0 {
		o.Settle = DefaultSettle
	}
	if o.Workers <= 0 {
		o.Workers = min(3*runtime.GOMAXPROCS(0), mostWorkers)
	}
	if o.Namespace != "" {
		o.Workers = 1
	}
	if o.Observe == nil {
		o.Observe = func(report.Standing) {}
	}
	return o, nil
}
