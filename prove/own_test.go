package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/accept"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/project"
)

// memcached is an operator that is made with Operon.
var memcached = Target{Dir: "../examples/memcached"}

// TestKept executes the plans that once showed a mistake in Operon's own runtime. Each says in its
// head what that was.
func TestKept(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	files, err := filepath.Glob("testdata/kept/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			kept, err := ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			options, err := kept.Target.Load(t.Context(), t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			testCluster.join(t, &options)
			found, err := Replay(t.Context(), options, kept)
			if err != nil {
				t.Fatal(err)
			}
			if found.Plans.Run != tries || found.Plans.Void != 0 || found.Failures() > 0 {
				t.Errorf("of %d plans %d are void, and there is found:\n%s", found.Plans.Run, found.Plans.Void, told(t, found))
			}
		})
	}
}

// A rule of a Role that nothing needs is a note. One that is missing is a finding, which is accepted here.
func TestRoleOfMemcached(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	missing, err := accept.Parse("accepted.yaml", []byte("accepted:\n- property: permitted\n  message: the operator is not permitted to list deployments\n  reason: a test\n"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"delete"}}
	for name, test := range map[string]struct {
		change   func(rules []any) []any
		property finding.Property
		says     string
	}{
		"too much":   {func(rules []any) []any { return append(rules, secrets) }, finding.Needed, "delete on secrets"},
		"too little": {withoutDeployments, finding.Permitted, "deployments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := proven(t, memcached, func(o *Options) {
				o.Plans, o.Budget, o.Accept = enoughPlans, 5*time.Minute, missing
				for _, grant := range o.Grants {
					changeRules(t, grant, test.change)
				}
			})
			for _, f := range found.Findings {
				if f.Flaky && f.Level == finding.Note {
					continue // the machine was slow: see docs/prove/properties.md
				}
				if f.Property != test.property || !strings.Contains(f.Message, test.says) {
					t.Errorf("found is %s: %s", f.Property, f.Message)
				}
			}
			if len(found.Findings) == 0 || found.Failures() > 0 {
				t.Errorf("%d findings, %d of them failures, in %d plans", len(found.Findings), found.Failures(), found.Plans.Run)
			}
		})
	}
}

func withoutDeployments(rules []any) []any {
	return slices.DeleteFunc(rules, func(rule any) bool {
		groups, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "apiGroups")
		return slices.Contains(groups, "apps")
	})
}

// changeRules changes those of a Role.
func changeRules(t *testing.T, grant project.Grant, change func([]any) []any) {
	t.Helper()
	rules, found, err := unstructured.NestedSlice(grant.Role.Object, "rules")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if err := unstructured.SetNestedSlice(grant.Role.Object, change(rules), "rules"); err != nil {
		t.Fatal(err)
	}
}
