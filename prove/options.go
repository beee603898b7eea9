package prove

import (
	"errors"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Options of a session.
type Options struct {
	// Name is the operator's, for people, and Command what starts it, where that is a program.
	Name    string
	Command []string
	// Operator is what is tested.
	Operator runner.Operator
	// Config is an administrator's connection to the cluster that it is tested on.
	Config *rest.Config
	// Disposable: the cluster is thrown away afterwards. Nothing is removed from it before.
	Disposable bool
	// CRDs are the operator's kinds, and Samples objects of them that it can deal with, with those
	// that they refer to.
	CRDs, Samples []*unstructured.Unstructured
	// Setup are objects that are in each world before the operator starts.
	Setup []*unstructured.Unstructured
	// Webhooks are names of webhook configurations that belong to the operator. None is called, nor is
	// one in Setup, and the report says so.
	Webhooks []string
	// Grants are the operator's permissions. Nil: all, and none is judged.
	Grants []project.Grant
	// Workloads are carried out beside those that are derived from the samples.
	Workloads []workload.Workload
	// Namespace is the one that the operator insists on. Plans follow one another then.
	Namespace string
	// Plans bounds their number, by default [DefaultPlans].
	Plans int
	// Budget bounds the time in which plans are begun, by default [DefaultBudget]. What was
	// begun is ended, and what was found made sure of.
	Budget time.Duration
	// Seed chooses between equals.
	Seed int64
	// Workers is how many plans are under way at once, by default twice the processors.
	Workers int
	// Settle is how long an operator without faults has to be silent to be done, by default
	// [DefaultSettle].
	Settle time.Duration
	// FailFast: no plan is begun after the first finding that is not flaky.
	FailFast bool
	// Witness watches the cluster, where several sessions share one. By default a session has its own.
	Witness *clusterwatch.Witness
	// Turns bounds how many runs are under way at once, where several sessions share a cluster.
	Turns runner.Turns
	// Folder takes what has to be in files while plans are under way.
	Folder string
	// Observe is called with how far the work is, when that changes. It must return soon.
	Observe func(report.Standing)
}

// What is taken where nothing else is said.
const (
	DefaultPlans  = 200
	DefaultBudget = 2 * time.Minute
	DefaultSettle = time.Second
)

var errNoSamples = errors.New("no samples: add objects of the operator's kinds to config/samples")

// observe says what is done before there are plans.
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
		o.Workers = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Namespace != "" {
		o.Workers = 1
	}
	if o.Observe == nil {
		o.Observe = func(report.Standing) {}
	}
	return o, nil
}
