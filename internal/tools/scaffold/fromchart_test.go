package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/scaffold"
	"github.com/operon-framework/operon/local/localtest"
)

const someChart = "../../../engine/helm/testdata/till/helm-charts/till"

func TestFromChart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "till-operator")
	written := carryOut(t, scaffold.FromChart{Dir: dir, Chart: someChart, Group: "scaffold"})
	var beside []string
	for _, path := range written {
		if !strings.HasPrefix(path, "helm-charts/till/") {
			beside = append(beside, path)
		}
	}
	want := "README.md config/crd/scaffold.example.com_tills.yaml config/rbac/role.yaml config/samples/till.yaml watches.yaml"
	if got := strings.Join(beside, " "); got != want {
		t.Errorf("wrote %s, want %s beside the chart", got, want)
	}
	p, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "till-operator" || !p.Main.Stock() || len(p.Grants) != 2 || len(p.Samples) != 1 {
		t.Errorf("the project is %s with %d grants and %d samples", p.Name, len(p.Grants), len(p.Samples))
	}
	localtest.Shared(t).InstallCRDs(t, filepath.Join(dir, "config/crd")) // the API server accepts the schema
	if _, err := try(t, scaffold.FromChart{Dir: dir, Chart: someChart}); err == nil || !strings.Contains(err.Error(), "has a watches.yaml already") {
		t.Errorf("a second time: %v", err)
	}
}

// The spec of the sample has the values of the chart, also texts with empty lines and what looks like another document.
func TestFromChartWithTexts(t *testing.T) {
	t.Parallel()
	chart, dir := t.TempDir(), filepath.Join(t.TempDir(), "till-operator")
	if err := os.CopyFS(chart, os.DirFS(someChart)); err != nil {
		t.Fatal(err)
	}
	values := "---\n# Texts.\nscript: |\n  first\n\n  ---\n   \n  last\n\nkept: |+\n  end\n\nfolded: one\n\n  two\n"
	values += testaid.Read(t, filepath.Join(chart, "values.yaml"))
	testaid.Write(t, filepath.Join(chart, "values.yaml"), values)
	carryOut(t, scaffold.FromChart{Dir: dir, Chart: chart, Group: "scaffold"})
	var want any
	sample := map[string]any{}
	err := errors.Join(yaml.Unmarshal([]byte(values), &want), yaml.Unmarshal([]byte(testaid.Read(t, filepath.Join(dir, "config/samples/till.yaml"))), &sample))
	if err != nil || !reflect.DeepEqual(sample["spec"], want) {
		t.Errorf("the spec is %q, %v; want %q", sample["spec"], err, want)
	}
}

// The workflows of an operator without Go use no module, and what they run works in a new project.
func TestFromChartWithWorkflows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "till-operator")
	carryOut(t, scaffold.FromChart{Dir: dir, Chart: someChart, CI: true})
	for file, want := range map[string][]string{
		"test.yaml":    {"go-version: stable", "cmd/operon@latest\n", "operon generate --check", "operon lint", "operon test", "operon prove"},
		"release.yaml": {"go-version: stable", "cmd/operon@latest\n", "operon build", "operon chart push \"dist/till-operator-"},
	} {
		text := testaid.Read(t, filepath.Join(dir, ".github/workflows", file))
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", file, part)
			}
		}
		if strings.Contains(text, "go.mod") || strings.Contains(text, "go test") || yaml.Unmarshal([]byte(text), &map[string]any{}) != nil {
			t.Errorf("%s is\n%s", file, text)
		}
	}
}

func TestFromChartRejects(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(someChart)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "Chart.yaml"), []byte("apiVersion: v2\nname: till\nversion: 0.1.0\ndependencies: [{name: db, version: 1.x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		wanted scaffold.FromChart
		want   string
	}{
		{scaffold.FromChart{Chart: "nowhere"}, "load the chart nowhere: "},
		{scaffold.FromChart{Chart: broken}, "Chart.yaml requires the chart db, which is not in its directory charts"},
		{scaffold.FromChart{Chart: someChart, Kind: "till"}, "till"},
		{scaffold.FromChart{Chart: someChart, Version: "one"}, "one"},
	} {
		test.wanted.Dir = filepath.Join(t.TempDir(), "operator")
		if _, err := try(t, test.wanted); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.wanted, err, test.want)
		}
		if _, err := os.Stat(test.wanted.Dir); err == nil {
			t.Errorf("%+v left a directory behind", test.wanted)
		}
	}
}
