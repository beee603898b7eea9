package prove

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// side is the number of gallery operators tested in parallel. Each session runs several test cases at a time. With too many, the cluster is slow, and the
// tests wait in proportion: on two cores, the package takes 717 s with ten and 559 s with four, and on slow ones, correct operators are not ready in time.
const side = "3"

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if err := flag.Set("test.parallel", side); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Flags of the gallery.
var (
	whole  = flag.Bool("gallery", false, "search for the mistakes of the gallery's operators, an hour on two cores, instead of repeating what was found")
	update = flag.Bool("update", false, "with -gallery: write what is found into the files that are repeated")
)

// galleryTest tests an operator of the gallery in this process.
func galleryTest(o operators.Operator) Test {
	in := func(path string) string {
		if path == "" {
			return ""
		}
		return filepath.Join("testdata", "gallery", path)
	}
	return Test{
		CRDs: in(o.CRDs[0]), Samples: in(o.Samples), RBAC: in(o.Role),
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			if o.Wide {
				namespace = ""
			}
			options := o.Options(namespace)
			options.Logger = logr.Discard()
			manager, err := ctrl.NewManager(config, options)
			if err != nil {
				return err
			}
			if err := o.Setup(manager); err != nil {
				return err
			}
			return manager.Start(ctx)
		},
	}
}

// raced is true if the tests run with the race detector.
var raced bool

// skipRaced skips a test that takes too long with the race detector. make test runs it without.
func skipRaced(t *testing.T) {
	t.Helper()
	if raced && !*whole {
		t.Skip("it takes too long for the race detector, and other tests of this package run the same code: make test runs it without")
	}
}

// For each gallery operator with a bug, its plan file reproduces the bug. For the others, a few plans find nothing. With
// -gallery, the bugs are searched for, and correct operators must pass many plans. With -short, one of three bugs is reproduced.
func TestGallery(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	all := operators.All()
	run := func(t *testing.T, at int) {
		if !all[at].Correct && at%3 != 0 {
			testaid.Slow(t, "similar bugs are side by side in the list, and each third one is reproduced")
		}
		show(t, all[at])
	}
	t.Run("wide", func(t *testing.T) {
		t.Parallel() // in parallel with other tests, but not with each other: these operators write outside of their namespaces
		for at, o := range all {
			if o.Wide {
				t.Run(o.Name, func(t *testing.T) { run(t, at) })
			}
		}
	})
	for at, o := range all {
		if !o.Wide {
			t.Run(o.Name, func(t *testing.T) {
				t.Parallel()
				run(t, at)
			})
		}
	}
}

// The bounded search of the gate: a limited number of test cases and a limited time for each operator, and no further
// operators after a total time. On a busy machine, some operators are not searched to the end, and do not count. For this
// share of the others, the bug must be found. make prove-gallery finds the rest.
const (
	boundedPlans  = 20
	boundedBudget = time.Minute
	boundedTime   = 90 * time.Second
	boundedRecall = 0.5
	// boundedSide is the number of parallel searches. Each of them runs several test cases at a time.
	boundedSide = 3
	// boundedSample is the minimum number of completed searches for a verdict, and boundedEnough the number after which no search begins.
	boundedSample, boundedEnough = 6, 8
	// boundedShrinking is how long smaller plans are tried. Nobody reads them here.
	boundedShrinking = time.Second
)

// TestGallerySearch searches for the bugs of the gallery's operators with few test cases. A search that finds something other than
// the bug, or nothing, is a miss. The test is not parallel to the other tests of the package, so that it does not slow them down.
func TestGallerySearch(t *testing.T) {
	skipRaced(t)
	testaid.Slow(t, "it searches for a minute and a half; TestGallery repeats what searches have found")
	if *whole {
		return // TestGallery searches without bounds
	}
	before := timing.shrinkFor
	timing.shrinkFor = boundedShrinking
	defer func() { timing.shrinkFor = before }()
	var tested, missed []string
	var mu sync.Mutex
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(tested) >= boundedEnough
	}
	until := time.Now().Add(boundedTime)
	slots := make(chan struct{}, boundedSide)
	all := slices.DeleteFunc(operators.All(), func(o operators.Operator) bool {
		return o.Correct || o.Wide || o.Property == finding.Needed // a permission is unused only after many test cases
	})
	t.Run("operators", func(t *testing.T) {
		for _, o := range spread(all) {
			t.Run(o.Name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				if enough() {
					return
				}
				if time.Now().After(until) {
					t.Log("not searched: the machine is too slow")
					return
				}
				seen := bounded(t, o)
				mu.Lock()
				defer mu.Unlock()
				found := slices.ContainsFunc(seen.Findings, func(f finding.Finding) bool { return shows(o, f) && f.Fails() })
				switch {
				case found:
					tested = append(tested, o.Name)
				case seen.Plans.Skipped == 0, seen.Failures() > 0:
					tested, missed = append(tested, o.Name), append(missed, o.Name)
				}
			})
		}
	})
	recall := 1 - float64(len(missed))/float64(max(len(tested), 1))
	t.Logf("of %d operators, %d were searched to the end, and %.0f %% of their bugs were found within %d test cases", len(all), len(tested), 100*recall, boundedPlans)
	if len(tested) < boundedSample {
		t.Logf("no verdict: the machine is too slow for %d complete searches", boundedSample)
		return
	}
	if recall < boundedRecall {
		t.Errorf("within %d test cases, %.0f %% of the bugs were found, not of %s", boundedPlans, 100*recall, strings.Join(missed, ", "))
	}
}

// spread returns operators in an order in which those that follow each other have different bugs: the list has similar bugs side by side.
func spread(all []operators.Operator) []operators.Operator {
	const stride = 7
	var mixed []operators.Operator
	for first := range stride {
		for i := first; i < len(all); i += stride {
			mixed = append(mixed, all[i])
		}
	}
	return mixed
}

// bounded searches for the bug of an operator until anything is found, or the bounds are reached.
func bounded(t *testing.T, o operators.Operator) *report.Report {
	t.Helper()
	began := time.Now()
	test := galleryTest(o)
	test.Plans, test.Budget, test.FailFast = boundedPlans, boundedBudget, true
	seen := test.prove(t)
	t.Logf("search: %s, %d test cases in %s: %s", o.Name, seen.Plans.Run, time.Since(began).Round(time.Second), properties(seen))
	return seen
}

// show tests an operator of the gallery, and logs each run.
func show(t *testing.T, o operators.Operator) {
	t.Helper()
	began := time.Now()
	found := tried(t, o)
	t.Logf("%d plans in %s: %s (slow %.1f)", found.Plans.Run, time.Since(began).Round(time.Second), properties(found), testCluster.witness.Slowness())
	for _, r := range found.Runs {
		t.Logf("  %5.1fs %s %s", r.Took.Seconds(), r.Verdict, r.Plan)
	}
	if o.Correct && (found.Failures() > 0 || found.Plans.Run == 0) {
		t.Errorf("it is correct, and in %d plans there is found:\n%s", found.Plans.Run, textOf(t, found))
	}
}

// tried tests an operator in the requested way.
func tried(t *testing.T, o operators.Operator) *report.Report {
	t.Helper()
	test := galleryTest(o)
	switch {
	case o.Correct && *whole:
		test.Plans, test.Budget = 60, 20*time.Minute
		return test.prove(t)
	case o.Correct:
		test.Plans, test.Budget = 4, time.Minute
		if testing.Short() {
			test.Plans = 2
		}
		return test.prove(t)
	case *whole:
		return searched(t, o)
	}
	file, err := ReadFile(galleryFile(o))
	if err != nil {
		t.Fatalf("%v; go test ./prove -run '%s$' -gallery -update makes it", err, t.Name())
	}
	return repeated(t, o, file)
}

// searched searches for the bug of an operator, and reproduces the finding from its file.
func searched(t *testing.T, o operators.Operator) *report.Report {
	t.Helper()
	test := galleryTest(o)
	test.Budget, test.FailFast = 8*time.Minute, true // in parallel with others, and one plan at a time if the operator writes outside of its namespace
	if o.Property == finding.Needed {
		test.Plans = enoughPlans // it is reported only after that many
	}
	found := test.prove(t)
	at := slices.IndexFunc(found.Findings, func(f finding.Finding) bool { return shows(o, f) }) // flaky findings are last
	if at < 0 {
		t.Errorf("it %s, and %q is not found in %d plans, %d of them void:\n%s", o.About, o.Property, found.Plans.Run, found.Plans.Void, textOf(t, found))
		return found
	}
	f := found.Findings[at]
	path := filepath.Join(t.TempDir(), "plan.json")
	if *update {
		path = galleryFile(o)
	}
	file := File{Target: galleryTarget(o), Finding: f.Key(), Seed: found.Seed, Settle: DefaultSettle, Plan: *f.Plan}
	if err := file.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	repeated(t, o, again)
	return found
}

// tooSlowForTwo is how many times as slow as usual a machine can be if a second instance has to be up before both act on a schedule: the time of
// the schedule does not depend on the machine.
const tooSlowForTwo = 2.5

// repeated executes the plan of a file, which must show the operator's bug.
func repeated(t *testing.T, o operators.Operator, file *File) *report.Report {
	t.Helper()
	found, shown := replayed(t, o, file)
	if !shown && slices.ContainsFunc(found.Notes, func(note string) bool { return strings.Contains(note, "some objects of the kind") }) {
		t.Logf("again: its bug showed in a run without faults, so that it was not compared: %q", found.Notes)
		found, shown = replayed(t, o, file)
	}
	if slow := testCluster.witness.Slowness(); !shown && slices.Contains(o.Needs, operators.Two) && slow > tooSlowForTwo {
		t.Logf("no verdict: the machine is %.1f times as slow as usual", slow)
		return found
	}
	if !shown {
		t.Errorf("it %s, and its file does not show %q:\n%s", o.About, o.Property, textOf(t, found))
	}
	return found
}

// replayed executes the plan of a file, and reports whether it showed the operator's bug.
func replayed(t *testing.T, o operators.Operator, file *File) (*report.Report, bool) {
	t.Helper()
	options, err := galleryTest(o).options(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	testCluster.join(t, &options)
	found, err := Replay(t.Context(), options, file)
	if err != nil {
		t.Fatal(err)
	}
	return found, slices.ContainsFunc(found.Findings, func(f finding.Finding) bool { return shows(o, f) })
}

// shows reports whether a finding is caused by the operator's bug.
func shows(o operators.Operator, f finding.Finding) bool {
	return f.Property == o.Property || slices.Contains(o.Also, f.Property)
}

// galleryFile returns the path of the file that shows an operator's bug.
func galleryFile(o operators.Operator) string {
	return filepath.Join("testdata", "gallery", "plans", o.Name+".json")
}

// galleryTarget returns an operator of the gallery as a program, with paths relative to this directory.
func galleryTarget(o operators.Operator) Target {
	test, run := galleryTest(o), "exec ./gallery "+o.Name
	if !o.Wide {
		run += " --namespace {namespace}"
	}
	return Target{Run: run, CRDs: test.CRDs, Samples: test.Samples, RBAC: test.RBAC}
}

func properties(r *report.Report) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, string(f.Property))
	}
	return strings.Join(all, ", ")
}
