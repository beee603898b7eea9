package prove

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runner"
)

// Test configures Run.
type Test struct {
	// Start runs the operator until ctx is canceled: like main, it creates a manager from the connection, starts
	// it, and returns its result. It is called again after each fault that ends the operator, and in parallel, so
	// it must not use global state: with controller-runtime, set SkipNameValidation and disable the metrics
	// server.
	Start func(ctx context.Context, config *rest.Config, namespace string) error
	// CRDs, Samples and Setup are manifests, each a file or a directory. Setup may be empty.
	CRDs, Samples, Setup string
	// RBAC is a file or directory with the Roles of the operator. Empty: it has all permissions.
	RBAC string
	// Steps is a file of workloads, in addition to those that are derived from the samples.
	Steps string
	// Accept is a file with the findings that do not fail the test, each with the reason: see docs/prove/properties.md.
	Accept string
	// Budget is the time in which plans are started. Default: [TestBudget].
	Budget time.Duration
	// Settle is how long an operator must be quiescent without faults to count as converged. Default: 600 ms. Set it to more than the
	// longest time after which the operator retries or requeues on its way to the final state.
	Settle time.Duration
	// Plans is the maximum number of plans. By default, only Budget limits it.
	Plans int
	// FailFast starts no further plan after the first finding that is not flaky.
	FailFast bool
	// Seed chooses between plans of equal priority. The same seed results in the same plans.
	Seed int64
}

// TestBudget is the default time budget for the plans of a test.
const TestBudget = 8 * time.Second

// Run tests the reliability of an operator, fails the test if there are failures among the findings, and returns the report.
//
// Guarantees: the operator runs in this process, on a cluster that is started for it in about a second and removed
// afterwards. Parallel tests share a cluster.
//
// Assumptions: those of Test.Start. Only one test at a time uses cluster-scoped objects of the same name.
//
// Caveats: an instance that is "killed" cannot send anything anymore, but its goroutines end only when they check
// their context.
func Run(t *testing.T, test Test) *report.Report {
	t.Helper()
	found := test.prove(t)
	if len(found.Findings)+found.Plans.Aborted == 0 {
		return found
	}
	print := t.Log
	if found.Failures() > 0 {
		print = t.Error
	}
	print("\n" + textOf(t, found))
	return found
}

// textOf returns a report as the command operon prove prints it.
func textOf(t *testing.T, found *report.Report) string {
	t.Helper()
	var text strings.Builder
	if err := report.Text(&text, *found, report.Look{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// prove runs the test and returns its report.
func (test Test) prove(t *testing.T) *report.Report {
	t.Helper()
	options, err := test.options(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options.Name = t.Name()
	testCluster.join(t, &options)
	found, err := Prove(t.Context(), options)
	if found != nil && err != nil && len(found.Findings) > 0 {
		t.Error("\n" + textOf(t, found)) // what was found before the error
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (test Test) options(folder string) (Options, error) {
	target := Target{CRDs: test.CRDs, Samples: test.Samples, Setup: test.Setup, RBAC: test.RBAC, Steps: test.Steps, Accept: test.Accept}
	options := Options{
		Plans: test.Plans, Budget: test.Budget, Seed: test.Seed, FailFast: test.FailFast, Settle: cmp.Or(test.Settle, timing.testSettle), Folder: folder,
		Operator: runner.Function(func(ctx context.Context, access runner.Access) error {
			return test.Start(ctx, access.Config, access.Namespace)
		}),
	}
	if options.Budget <= 0 {
		options.Budget = TestBudget
	}
	return options, target.loadFiles(&options)
}

// testCluster is the cluster that the tests of this process share while at least one of them uses it.
var testCluster = commonCluster{turns: runner.NewTurns(6 * runtime.GOMAXPROCS(0))}

type commonCluster struct {
	turns   runner.Turns
	mu      sync.Mutex
	users   int
	config  *rest.Config
	witness *clusterwatch.Witness
	stop    func() error
}

// join makes options use the cluster until the test ends. The first user starts the cluster, and the last user stops it:
// nothing has to be removed from it before.
func (c *commonCluster) join(t *testing.T, options *Options) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		if err := c.start(t); err != nil {
			t.Fatal(err)
		}
	}
	c.users++
	t.Cleanup(func() {
		if err := c.leave(); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	options.Config, options.Witness, options.Turns, options.Disposable = c.config, c.witness, c.turns, true
}

// start starts the cluster. The lock is held.
func (c *commonCluster) start(t *testing.T) error {
	ctx := context.WithoutCancel(t.Context())
	config, stop, err := StartCluster(ctx, t.Output())
	if err != nil {
		return err
	}
	w, err := clusterwatch.Start(ctx, config)
	if err != nil {
		return errors.Join(err, stop())
	}
	c.config, c.witness, c.stop = config, w, stop
	return nil
}

func (c *commonCluster) leave() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	c.witness.Close()
	return c.stop()
}
