package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/operon-framework/operon/internal/prove/finding"
	results "github.com/operon-framework/operon/internal/prove/report"
)

// The module of an operator has the versions of the release, and replaces the same modules, except by directories of the release.
func TestRequiring(t *testing.T) {
	t.Parallel()
	released := `module example.com/op
go 1.26.0
toolchain go1.26.3
require (
	example.com/op/api v1.2.0
	k8s.io/api v0.36.0
)
replace example.com/op/api => ./api
replace k8s.io/api => k8s.io/api v0.35.0
tool example.com/op/gen
`
	got, err := requiring([]byte(released), operator{name: "op", module: "example.com/op", version: "v1.2.0"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", got, nil)
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]string{}
	for _, r := range file.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	if file.Module.Mod.Path != "bench.example/op" || required["example.com/op"] != "v1.2.0" || required["k8s.io/api"] != "v0.36.0" || required["example.com/op/api"] != "v1.2.0" {
		t.Errorf("the module is %s and requires %v", file.Module.Mod.Path, required)
	}
	if len(file.Replace) != 1 || file.Replace[0].New.Version != "v0.35.0" || len(file.Tool) != 0 || file.Toolchain != nil {
		t.Errorf("go.mod is\n%s", got)
	}
}

// The samples of each operator are valid YAML, and the reason of each accepted finding begins with its category.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, o := range operators {
		decoder := yaml.NewYAMLOrJSONDecoder(read(t, o, "samples.yaml"), 1<<10)
		samples := 0
		for {
			var object map[string]any
			err := decoder.Decode(&object)
			if err == io.EOF {
				break
			}
			if err != nil || object["kind"] == nil {
				t.Fatalf("%s: %v, %v", o.name, object, err)
			}
			samples++
		}
		if samples == 0 {
			t.Errorf("%s has no samples", o.name)
		}
		if !exists(o.files(".", "findings.yaml")) {
			continue
		}
		var known struct{ Accepted []struct{ Reason string } }
		if err := yaml.NewYAMLOrJSONDecoder(read(t, o, "findings.yaml"), 1<<10).Decode(&known); err != nil {
			t.Fatal(err)
		}
		for _, one := range known.Accepted {
			kind, _, _ := strings.Cut(one.Reason, ":")
			if kind != "bug" && kind != "design" && kind != "false alarm" && kind != "limit" {
				t.Errorf("%s: %q is not a bug, a design, a limit or a false alarm", o.name, one.Reason)
			}
		}
	}
}

func read(t *testing.T, o operator, name string) io.Reader {
	t.Helper()
	content, err := os.ReadFile(o.files(".", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(content)
}

func TestUnknownOperator(t *testing.T) {
	t.Parallel()
	if _, err := choose("elastic,nobody"); err == nil || !strings.Contains(err.Error(), `unknown operator "nobody": want argo-rollouts, cert-manager`) {
		t.Error(err)
	}
	if chosen, err := choose("elastic"); err != nil || len(chosen) != 1 {
		t.Errorf("%v, %v", chosen, err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := result{operator{name: "op", version: "v1"}, results.Report{Took: 2 * time.Minute, Findings: []finding.Finding{
		{Property: "same-fresh", Level: "note", Message: "a | b", Accepted: "design: a"}, {Property: "alive", Message: "it exits", Flaky: true},
	}}}
	r.Plans.Run = 30
	if err := write(&out, []result{r}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| op v1 | 30 | 15.0 | 1 | 1 |", `| op | same-fresh | a \| b (note) | design: a |`, "| op | alive | it exits (flaky) | not looked at |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, &out)
		}
	}
}
