package project_test

import (
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

// A directory with watches.yaml and without go.mod is the project of an operator without Go.
func TestReadAnOperatorWithoutGo(t *testing.T) {
	t.Parallel()
	p, err := project.Read(filepath.Join("testdata", "helm-sdk"), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "till-operator" || !p.Main.Stock() || len(p.CRDs) != 1 || len(p.Grants) != 2 || len(p.Samples) != 1 {
		t.Errorf("read %s with main package %s, %d CRDs, %d grants and %d samples", p.Name, p.Main.Package, len(p.CRDs), len(p.Grants), len(p.Samples))
	}
	flags := p.Flags(project.Placing{Metrics: "127.0.0.1:1", Health: "127.0.0.1:2"})
	if len(flags) != 3 || flags[0] != "--metrics-bind-address=127.0.0.1:1" {
		t.Errorf("the flags are %q", flags)
	}
}
