package doctor

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

var update = flag.Bool("update", false, "write what is found, and docs/lint.md, as they are now")

// cases returns all Go packages of testdata. They are type-checked in one load that all tests share, because it is expensive.
var cases = sync.OnceValues(func() ([]*packages.Package, error) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		return nil, err
	}
	return rule.Load(context.Background(), dir, "./...")
})

// TestRules: each rule has a directory in testdata with a project in which it finds exactly the findings in find.txt, and
// similar projects, whose names begin with good, in which it finds nothing. To test a new rule, add a directory.
func TestRules(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, r := range Rules() {
		if names[r.Name] {
			t.Errorf("there are two rules %s", r.Name)
		}
		names[r.Name] = true
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			bad := findings(t, r, "bad")
			if len(bad) == 0 {
				t.Errorf("the rule finds nothing in the bad case")
			}
			good, err := filepath.Glob(filepath.Join("testdata", "rules", r.Name, "good*"))
			if err != nil || len(good) == 0 {
				t.Errorf("no good case: %v", err)
			}
			for _, folder := range good {
				for _, f := range findings(t, r, filepath.Base(folder)) {
					t.Errorf("false alarm in the case %s: %s: %s", filepath.Base(folder), f.Place, f.Message)
				}
			}
			golden(t, filepath.Join("testdata", "rules", r.Name, "find.txt"), told(bad))
		})
	}
	folders, err := filepath.Glob("testdata/rules/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !names[filepath.Base(folder)] {
			t.Errorf("%s is of no rule", folder)
		}
	}
}

// findings returns the findings of one rule in a test case. All rules are checked, because ignore comments are about other
// rules.
func findings(t *testing.T, r *rule.Rule, name string) []Finding {
	t.Helper()
	report, err := examine(subject(t, filepath.Join("testdata", "rules", r.Name, name)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var found []Finding
	for _, f := range report.Findings {
		if f.Rule == r.Name {
			found = append(found, f)
		}
	}
	return found
}

// subject reads a test case like Examine reads a project, except for the Go code.
func subject(t *testing.T, folder string) *rule.Subject {
	t.Helper()
	dir, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	var manifests rule.Manifests
	for from, to := range map[string]*[]project.Object{project.CRDFolder: &manifests.CRDs, project.SampleFolder: &manifests.Samples} {
		if *to, err = project.ReadFolder(dir, from); err != nil {
			t.Fatal(err)
		}
	}
	roles, err := project.ReadFolder(dir, project.RBACFolder)
	if err != nil {
		t.Fatal(err)
	}
	manifests.Grants = project.GrantsOf(dir, roles)
	s, err := rule.New(dir, project.ControllerRuntime, manifests, rule.Index(dir, below(t, dir)))
	if err != nil {
		t.Fatal(err)
	}
	s.Others = kustomized(dir, s.Others)
	older := filepath.Join(filepath.Dir(dir), "older")
	if _, err := os.Stat(older); err == nil {
		if s.Against, err = olderDefinitions(t.Context(), dir, older); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// below returns the packages in a directory.
func below(t *testing.T, dir string) []*packages.Package {
	t.Helper()
	all, err := cases()
	if err != nil {
		t.Fatal(err)
	}
	var some []*packages.Package
	for _, p := range all {
		if len(p.GoFiles) > 0 && strings.HasPrefix(p.GoFiles[0], dir+string(filepath.Separator)) {
			some = append(some, p)
		}
	}
	return some
}

// told formats findings for a golden file.
func told(found []Finding) []byte {
	var all bytes.Buffer
	for _, f := range found {
		fmt.Fprintf(&all, "%s %s: %s\n", f.Place, f.Severity, f.Message)
	}
	return all.Bytes()
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s should hold\n%s(-update accepts it), and holds\n%s", file, got, want)
	}
}

// An operator without Go has no code: the rules about manifests apply to it.
func TestExamineAnOperatorWithoutGo(t *testing.T) {
	t.Parallel()
	report, err := Examine(t.Context(), "../project/testdata/helm-sdk", Options{})
	if err != nil {
		t.Fatal(err)
	}
	wildcard := func(f Finding) bool { return f.Rule == "rbac-wildcard" && f.Place.Line == 22 }
	if !slices.ContainsFunc(report.Findings, wildcard) {
		t.Errorf("the findings are %+v", report.Findings)
	}
}
