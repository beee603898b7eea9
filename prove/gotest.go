package prove

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove/report"
	"github.com/operon-framework/operon/prove/witness"
	"github.com/operon-framework/operon/prove/world"
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
	// FailFast: no plan is begun after the first finding.
	FailFast bool
	// Seed chooses between equals. The same seed gives the same plans.
	Seed int64
}

// TestBudget is the time that a test takes for its plans where nothing else is said.
const TestBudget = 8 * time.Second

// testSettle is shorter than for programs: a manager in a test starts without a process.
const testSettle = 600 * time.Millisecond

// Run tests an operator's reliability on the cluster that tests share, and fails the test with
// each finding. It returns the report.
//
// Guarantees: the operator runs in this process; what the test put into the cluster is removed but
// for the CustomResourceDefinitions. Other tests may run beside it.
//
// Assumptions: as [Test] says of Start. Kinds have a namespace, or no other test uses them.
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
	env := localtest.Shared(t)
	options, err := test.options(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options.Name, options.Config = t.Name(), env.Config
	if options.Witness, err = witnesses.of(t.Context(), env.Config); err != nil {
		t.Fatal(err)
	}
	found, err := Prove(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (test Test) options(folder string) (Options, error) {
	target := Target{CRDs: test.CRDs, Samples: test.Samples, Setup: test.Setup, RBAC: test.RBAC, Steps: test.Steps}
	options := Options{
		Plans: test.Plans, Budget: test.Budget, Seed: test.Seed, FailFast: test.FailFast, Settle: testSettle, Folder: folder,
		Operator: world.Function(func(ctx context.Context, access world.Access) error {
			return test.Start(ctx, access.Config, access.Namespace)
		}),
	}
	if options.Budget <= 0 {
		options.Budget = TestBudget
	}
	return options, target.loadFiles(&options)
}

// witnesses are those of the clusters that this process's tests use. They end with the process.
var witnesses = byHost{all: map[string]*witness.Witness{}}

type byHost struct {
	mu  sync.Mutex
	all map[string]*witness.Witness
}

// of returns the witness of a cluster.
func (b *byHost) of(ctx context.Context, config *rest.Config) (*witness.Witness, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.all[config.Host]; w != nil {
		return w, nil
	}
	w, err := witness.Start(ctx, config)
	if err == nil {
		b.all[config.Host] = w
	}
	return w, err
}
