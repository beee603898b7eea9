package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/project"
)

// A directory with watches.yaml and without go.mod is the project of an operator without Go code.
func TestReadAnOperatorWithoutGo(t *testing.T) {
	t.Parallel()
	p, err := project.Read(filepath.Join("testdata", "helm-sdk"), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "till-operator" || !p.Main.Stock() || len(p.CRDs) != 1 || len(p.Grants) != 2 || len(p.Samples) != 1 {
		t.Errorf("read %s with main package %s, %d CRDs, %d grants and %d samples", p.Name, p.Main.Package, len(p.CRDs), len(p.Grants), len(p.Samples))
	}
	if ansible, err := p.Ansible(); err != nil || ansible {
		t.Errorf("it has Ansible roles: %t, %v", ansible, err)
	}
	roles, err := project.Read(filepath.Join("testdata", "ansible-sdk"), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ansible, err := roles.Ansible(); err != nil || !ansible || roles.Name != "kiosk-operator" {
		t.Errorf("%s has Ansible roles: %t, %v", roles.Name, ansible, err)
	}
	flags := p.Flags(project.Placing{Metrics: "127.0.0.1:1", Health: "127.0.0.1:2"})
	if len(flags) != 3 || flags[0] != "--metrics-bind-address=127.0.0.1:1" {
		t.Errorf("the flags are %q", flags)
	}
}

// Definitions in the crds directories of a chart and of its subcharts belong to the project, unless the project
// contains them itself.
func TestCRDsOfCharts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "helm-sdk"))); err != nil {
		t.Fatal(err)
	}
	own := testaid.Read(t, filepath.Join(dir, "config/crd/bases/charts.example.com_tills.yaml"))
	drawers := strings.ReplaceAll(own, "tills", "drawers")
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/crds/drawers.yaml"), drawers)
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/crds/tills.yaml"), strings.ReplaceAll(own, "v1alpha1", "v9"))
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/charts/coin/Chart.yaml"), "apiVersion: v2\nname: coin\nversion: 0.1.0\n")
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/charts/coin/crds/coins.yaml"), strings.ReplaceAll(own, "tills", "coins"))
	p, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, crd := range p.CRDs {
		places = append(places, crd.GetName()+" in "+crd.File)
	}
	want := "tills.charts.example.com in config/crd/bases/charts.example.com_tills.yaml, coins.charts.example.com in helm-charts/till/charts/coin/crds/coins.yaml, " +
		"drawers.charts.example.com in helm-charts/till/crds/drawers.yaml"
	if got := strings.Join(places, ", "); got != want {
		t.Errorf("the definitions are %s, want %s", got, want)
	}
	pack(t, filepath.Join(dir, "helm-charts/till"), filepath.Join(dir, "helm-charts/outer/charts/till.tgz"))
	pack(t, filepath.Join(dir, "helm-charts/outer"), filepath.Join(dir, "outer-0.1.0.tgz"))
	testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "helm-charts/till", "outer-0.1.0.tgz")
	packed, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(packed.CRDs) != 3 || packed.CRDs[1].File != "outer-0.1.0.tgz/charts/till.tgz/charts/coin/crds/coins.yaml" {
		t.Errorf("of packed charts there are %d definitions, one in %s", len(packed.CRDs), packed.CRDs[1].File)
	}
	testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "outer-0.1.0.tgz", "helm-charts/till")
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/crds/drawers.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	if _, err := project.Read(dir, project.Options{}); err == nil || !strings.Contains(err.Error(), "helm-charts/till/crds/drawers.yaml:1: a ConfigMap") {
		t.Errorf("another object in crds: %v", err)
	}
}

// pack packs the directory of a chart like `helm package`.
func pack(t *testing.T, dir, archive string) {
	t.Helper()
	testaid.Write(t, archive, "")
	if said, err := exec.CommandContext(t.Context(), "tar", "-czf", archive, "-C", filepath.Dir(dir), filepath.Base(dir)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}
