package prove

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/finding"
	"github.com/operon-framework/operon/prove/report"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// gallerySide is how many operators of the gallery are tested side by side: mostly they wait.
const gallerySide = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if err := flag.Set("test.parallel", gallerySide); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// whole asks for all operators of the gallery, with more time for each.
var whole = flag.Bool("gallery", false, "test all operators of the gallery, a quarter of an hour on two cores")

// shown are the operators of the gallery that are tested where nobody asks for all: one for each way
// to be wrong that shows within seconds, and correct twins.
var shown = []string{"ok-app", "half-made", "no-scale-down", "defaulted-loop"}

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

// In each operator of the gallery that has a mistake, it is found, and in none of the others one.
func TestGallery(t *testing.T) {
	t.Parallel()
	for _, o := range operators.All() {
		t.Run(o.Name, func(t *testing.T) {
			if !*whole && !slices.Contains(shown, o.Name) {
				t.Skip("all take a quarter of an hour: go test ./prove -run TestGallery -gallery -timeout 60m")
			}
			if !o.Wide {
				t.Parallel() // those that reach out of their namespace would see each other
			}
			test := galleryTest(o)
			test.Budget, test.FailFast = 45*time.Second, !o.Correct
			if o.Correct {
				test.Budget = 10 * time.Second
			}
			if *whole {
				test.Budget *= 4
			}
			began := time.Now()
			found := test.prove(t)
			t.Logf("%d plans in %s: %s (slow %.1f)", found.Plans.Run, time.Since(began).Round(time.Second), properties(found), testCluster.witness.Slowness())
			for _, r := range found.Runs {
				t.Logf("  %5.1fs %s %s", r.Took.Seconds(), r.Verdict, r.Plan)
			}
			switch {
			case o.Correct && len(found.Findings) > 0:
				t.Errorf("it is correct, and there is found:\n%s", told(t, found))
			case !o.Correct && len(found.Findings) == 0:
				t.Errorf("it %s, and nothing is found in %d plans, %d of them void", o.About, found.Plans.Run, found.Plans.Void)
			case !o.Correct && !slices.ContainsFunc(found.Findings, func(f finding.Finding) bool {
				return f.Property == o.Property || slices.Contains(o.Also, f.Property)
			}):
				t.Errorf("it %s, and what is found is not %q:\n%s", o.About, o.Property, told(t, found))
			}
		})
	}
}

func properties(r *report.Report) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, string(f.Property))
	}
	return strings.Join(all, ", ")
}

func told(t *testing.T, r *report.Report) string {
	t.Helper()
	var text strings.Builder
	if err := report.Text(&text, *r, report.Look{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
