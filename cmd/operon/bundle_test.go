package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor"
)

// bundles are the bundles with which package bundle is tested.
const bundles = "../../internal/ship/bundle/testdata"

func TestMistakesInCallsOfBundle(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for call, want := range map[string]string{
		"bundle list":                          `operon: unknown command "list" for "operon bundle"`,
		"bundle lint":                          "operon: want a directory with a bundle",
		"bundle lint " + empty:                 "has no bundle in it: want a directory with manifests/ and metadata/annotations.yaml, or with a CSV",
		"bundle lint /nowhere":                 "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle lint a --against /nowhere":     "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle lint a -o xml":                 "operon: -o xml: want text, json, yaml or sarif",
		"bundle convert a":                     "operon: want two directories: the package, and where to write the bundles",
		"bundle convert /nowhere " + empty:     "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle convert " + bundles + " /proc": "operon: ",
	} {
		if got := operon(t, strings.Fields(call)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

func TestBundleLint(t *testing.T) {
	t.Parallel()
	if got := operon(t, "bundle", "lint", bundles+"/lamp"); got.code != 0 || !strings.Contains(got.stdout, "no findings") {
		t.Errorf("a valid bundle: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	got := operon(t, "bundle", "lint", bundles, "-o", "json")
	var report doctor.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != exitFindings || len(report.Findings) != 4 {
		t.Errorf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if sarif := operon(t, "bundle", "lint", bundles, "-o", "sarif"); !strings.Contains(sarif.stdout, `"id": "crd-v1beta1"`) || strings.Contains(sarif.stdout, "rbac-wildcard") {
		t.Errorf("rules in SARIF: %s", sarif.stdout)
	}
	if rules := operon(t, "bundle", "lint", "--rules"); rules.code != 0 || !strings.Contains(rules.stdout, "csv-owned             error\n") {
		t.Errorf("exit %d\n%s", rules.code, rules.stdout)
	}
}

func TestBundleConvert(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	got := operon(t, "bundle", "convert", bundles+"/bell", filepath.Join(out, "new"))
	if want := "bell.v1.1.0: " + filepath.Join(out, "new", "bell", "1.1.0") + ", in stable\n"; got.code != 0 || !strings.Contains(got.stdout, want) {
		t.Errorf("exit %d, want %q\n%s%s", got.code, want, got.stdout, got.stderr)
	}
	got = operon(t, "bundle", "convert", bundles+"/bell", filepath.Join(out, "again"), "-o", "json")
	var made []bundle.Conversion
	if err := json.Unmarshal([]byte(got.stdout), &made); err != nil || len(made) != 2 || made[0].Name != "bell.v1.0.0" {
		t.Errorf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	if again := operon(t, "bundle", "convert", bundles+"/bell", filepath.Join(out, "new")); again.code != exitFailed || !strings.Contains(again.stderr, "is not overwritten") {
		t.Errorf("existing files: exit %d\n%s", again.code, again.stderr)
	}
}
