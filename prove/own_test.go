package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/accept"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/project"
)

// memcached is an operator that uses Operon.
var memcached = Target{Dir: "../examples/memcached"}

// TestKept executes the plans that once showed a bug in Operon's own runtime. The head of each file describes the bug.
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
				t.Errorf("of %d plans %d are void, and there is found:\n%s", found.Plans.Run, found.Plans.Void, textOf(t, found))
			}
		})
	}
}

// A rule of a Role that nothing needs is a note. The runs without faults suffice, as when a note is replayed.
func TestRoleWithTooMuch(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	options := withRules(t, memcached, func(rules []any) []any {
		return append(rules, map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"delete"}})
	})
	note := &File{Finding: string(finding.Needed) + "|", Settle: DefaultSettle, Plan: testplan.Plan{Workload: workload.Sample(options.Samples, options.CRDs)}}
	found, err := Replay(t.Context(), options, note)
	if err != nil {
		t.Fatal(err)
	}
	others := func(unused string) bool { return !strings.Contains(unused, "delete on secrets") } // the Role has exactly what is needed
	if !says(found, finding.Needed, "delete on secrets") || found.Failures() > 0 || len(found.Rights.Missing) > 0 || slices.ContainsFunc(found.Rights.Unused, others) {
		t.Errorf("found is:\n%s", textOf(t, found))
	}
}

// A rule that is missing from a Role is a finding, which is accepted here.
func TestRoleWithTooLittle(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	missing, err := accept.Parse("accepted.yaml", []byte("accepted:\n- property: permitted\n  message: the operator is not permitted to list deployments\n  reason: a test\n"+
		"- property: permitted\n  message: the operator is not permitted to watch deployments\n  reason: a test\n"))
	if err != nil {
		t.Fatal(err)
	}
	options := withRules(t, memcached, withoutDeployments)
	options.Plans, options.Accept = 2, missing
	found, err := Prove(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if !says(found, finding.Permitted, "deployments") || found.Failures() > 0 {
		t.Errorf("found is:\n%s", textOf(t, found))
	}
}

func says(found *report.Report, property finding.Property, message string) bool {
	return slices.ContainsFunc(found.Findings, func(f finding.Finding) bool {
		return f.Property == property && strings.Contains(f.Message, message)
	})
}

// withRules returns the options for a target whose Roles are changed.
func withRules(t *testing.T, target Target, change func(rules []any) []any) Options {
	t.Helper()
	options, err := target.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	testCluster.join(t, &options)
	for _, grant := range options.Grants {
		changeRules(t, grant, change)
	}
	return options
}

func withoutDeployments(rules []any) []any {
	return slices.DeleteFunc(rules, func(rule any) bool {
		groups, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "apiGroups")
		return slices.Contains(groups, "apps")
	})
}

// changeRules changes the rules of a Role.
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
