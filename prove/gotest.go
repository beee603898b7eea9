package prove

import (
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

// Test says what [Run] tests.
type Test struct {
	// Start runs the operator until ctx ends: it makes a manager from the connection and starts it,
	// as main does, and returns what that returns. It is called again after each fault that ends the
	// operator, and in parallel, so that it must not use what is global: with controller-runtime, set
	// SkipNameValidation and no metrics server.
	Start func(ctx context.Context, config *rest.Config, namespace string) error
	// CRDs, Samples and Setup are manifests, each a file or a folder; Setup may be empty.
	CRDs, Samples, Setup string
	// RBAC are the operator's Roles, a file or a folder. Empty: it may do anything.
	RBAC string
	// Steps is a file of workloads beside those derived from the samples.
	Steps string
	// Budget bounds the time in which plans are begun, by default [TestBudget].
	Budget time.Duration
	// Plans bounds their number. By default the time alone does.
	Plans int
	// FailFast: no plan is begun after the first finding that is not flaky.
	FailFast bool
	// Seed chooses between equals. The same seed gives the same plans.
	Seed int64
}

// TestBudget is the time that a test takes for its plans where nothing else is said.
const TestBudget = 8 * time.Second

// Run tests an operator's reliability, and fails the test with what it finds. It returns the report.
//
// Guarantees: the operator runs in this process, on a cluster that is started for it in about a
// second and is gone afterwards. Tests that run side by side share one.
//
// Assumptions: as [Test] says of Start. Of kinds without a namespace, one test at a time uses objects
// of the same name.
//
// Caveats: an instance that is "killed" cannot send any more, but its goroutines end only when they
// look at their context.
func Run(t *testing.T, test Test) *report.Report {
	t.Helper()
	found := test.prove(t)
	if len(found.Findings) == 0 {
		return found
	}
	var text strings.Builder
	if err := report.Text(&text, *found, report.Look{}); err != nil {
		t.Fatal(err)
	}
	t.Error("\n" + text.String())
	return found
}

// prove returns what is found.
func (test Test) prove(t *testing.T) *report.Report {
	t.Helper()
	options, err := test.options(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options.Name = t.Name()
	testCluster.join(t, &options)
	found, err := Prove(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (test Test) options(folder string) (Options, error) {
	target := Target{CRDs: test.CRDs, Samples: test.Samples, Setup: test.Setup, RBAC: test.RBAC, Steps: test.Steps}
	options := Options{
		Plans: test.Plans, Budget: test.Budget, Seed: test.Seed, FailFast: test.FailFast, Settle: timing.testSettle, Folder: folder,
		Operator: runner.Function(func(ctx context.Context, access runner.Access) error {
			return test.Start(ctx, access.Config, access.Namespace)
		}),
	}
	if options.Budget <= 0 {
		options.Budget = TestBudget
	}
	return options, target.loadFiles(&options)
}

// testCluster is the one that this process's tests share, as long as one of them uses it.
var testCluster = commonCluster{turns: runner.NewTurns(6 * runtime.GOMAXPROCS(0))}

type commonCluster struct {
	turns   runner.Turns
	mu      sync.Mutex
	users   int
	config  *rest.Config
	witness *clusterwatch.Witness
	stop    func() error
}

// join lets options use the cluster, which is started for the first user, until the test ends. The
// last user stops it: nothing has to be removed from it before.
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
