package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate"
	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// fromChart creates a project from a chart.
func fromChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "till-operator")
	p, err := scaffold.FromChart{Dir: dir, Chart: "../../../engine/helm/testdata/till/helm-charts/till"}.Plan(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// generated applies what operon generate plans, and returns the written files and the notes.
func generated(t *testing.T, dir string, flags ...string) (written, notes string) {
	t.Helper()
	result, err := generate.Plan(t.Context(), dir, generate.Options{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	files, err := result.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " "), strings.Join(result.Notes, "\n")
}

// Manifests that are derived from a chart are generated again when the chart changes, and manifests of the author are
// not changed.
func TestGenerateFromAChart(t *testing.T) {
	t.Parallel()
	dir := fromChart(t)
	const crd, role = "config/crd/charts.example.com_tills.yaml", "config/rbac/role.yaml"
	if written, notes := generated(t, dir); written != "" || notes != "" {
		t.Errorf("a new project is stale: %s\n%s", written, notes)
	}
	for _, file := range []string{crd, role} { // as in a checkout on Windows
		testaid.Write(t, filepath.Join(dir, file), strings.ReplaceAll(testaid.Read(t, filepath.Join(dir, file)), "\n", "\r\n"))
	}
	if _, notes := generated(t, dir); notes != "" {
		t.Errorf("with other line ends, it notes %q", notes)
	}
	values := filepath.Join(dir, "helm-charts/till/values.yaml")
	testaid.Write(t, values, testaid.Read(t, values)+"quota:\n  enabled: false\n")
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/templates/quota.yaml"),
		"{{ if .Values.quota.enabled }}\napiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: {{ .Release.Name }}\n{{ end }}\n")
	if written, _ := generated(t, dir); written != crd+" "+role {
		t.Errorf("after a change of the chart, it writes %q", written)
	}
	if text := testaid.Read(t, filepath.Join(dir, crd)); !strings.Contains(text, "quota:") {
		t.Errorf("the CRD has no new value:\n%s", text)
	}
	if text := testaid.Read(t, filepath.Join(dir, role)); !strings.Contains(text, "resourcequotas") {
		t.Errorf("the permissions lack the optional kind:\n%s", text)
	}
	if written, _ := generated(t, dir, "--manifests", "--docs", "--schemas"); !strings.Contains(written, "dist/install.yaml") ||
		!strings.Contains(written, "docs/reference/charts.example.com_v1alpha1.md") || !strings.Contains(written, "schemas/charts.example.com/till_v1alpha1.json") {
		t.Errorf("on request, it writes %q", written)
	}
	install := testaid.Read(t, filepath.Join(dir, "dist/install.yaml"))
	if !strings.Contains(install, "kind: CustomResourceDefinition") || !strings.Contains(install, "resourcequotas") || !strings.Contains(install, "kind: Deployment") {
		t.Errorf("what installs the operator lacks something:\n%s", install)
	}
	_, own, _ := strings.Cut(testaid.Read(t, filepath.Join(dir, role)), "\n")
	testaid.Write(t, filepath.Join(dir, role), strings.ReplaceAll(own, "resourcequotas", "limitranges"))
	if written, notes := generated(t, dir); written != "" || !strings.Contains(notes, role) || strings.Contains(notes, crd) {
		t.Errorf("with permissions by the author, it writes %q and notes %q", written, notes)
	}
}

// The manifests of an Operator SDK project are not changed, and all manifests that install the operator are generated
// from them.
func TestGenerateInAProjectOfOperatorSDK(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../project/testdata/helm-sdk")); err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/crds/drawers.yaml"), strings.NewReplacer("tills", "drawers", "Till", "Drawer", "till", "drawer").Replace(
		testaid.Read(t, filepath.Join(dir, "config/crd/bases/charts.example.com_tills.yaml"))))
	written, notes := generated(t, dir)
	if written != "" || !strings.Contains(notes, "config/crd/bases/charts.example.com_tills.yaml") || !strings.Contains(notes, "config/rbac/role.yaml") {
		t.Errorf("it writes %q and notes %q", written, notes)
	}
	if written, _ = generated(t, dir, "--manifests"); written != "dist/install.yaml" {
		t.Errorf("on request, it writes %q", written)
	}
	if err := os.Remove(filepath.Join(dir, "config/crd/bases/charts.example.com_tills.yaml")); err != nil {
		t.Fatal(err)
	}
	if written, _ = generated(t, dir); written != "config/crd/bases/charts.example.com_tills.yaml" {
		t.Errorf("of a CRD that is missing, it writes %q", written)
	}
	for flag, want := range map[string]string{"--clients": "it is for Go types", "--max-description=0": "it is for Go types", "--nothing": "unknown flag"} {
		if _, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{flag}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "chart:", "charts:")
	if _, err := generate.Plan(t.Context(), dir, generate.Options{}); err == nil || !strings.Contains(err.Error(), "watches.yaml:2: ") {
		t.Errorf("watches.yaml that cannot be read: %v", err)
	}
}
