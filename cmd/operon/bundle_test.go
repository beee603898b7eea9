package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/bundletest"
	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/doctor"
)

// bundles are the bundles with which package bundle is tested.
const bundles = "../../internal/ship/bundle/testdata"

func TestMistakesInCallsOfBundle(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	wants := map[string]string{
		"bundle list":                                       `operon: unknown command "list" for "operon bundle"`,
		"bundle lint":                                       "operon: want a directory with a bundle",
		"bundle lint " + empty:                              "has no bundle in it: want a directory with manifests/ and metadata/annotations.yaml, or with a CSV",
		"bundle lint /nowhere":                              "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle lint a --against /nowhere":                  "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle lint a -o xml":                              "operon: -o xml: want text, json, yaml or sarif",
		"bundle check":                                      "operon: want a directory with bundles",
		"bundle check " + empty:                             "has no bundle in it",
		"bundle check a --jobs -1":                          "operon: --jobs -1: want a number above 0",
		"bundle check a -o xml":                             "operon: -o xml: want text, json, yaml or sarif",
		"bundle test":                                       "operon: want one directory with a bundle, got 0",
		"bundle test " + empty:                              "is not a bundle: it has no directories manifests and metadata, and no manifests of its own",
		"bundle test /nowhere":                              "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle test a -o xml":                              "operon: -o xml: want text, json or yaml",
		"bundle test a --idle-timeout 0s":                   "operon: --idle-timeout must be greater than 0",
		"bundle test a --from-run b":                        "operon: --from-run is the command of the previous version: it needs --from and --run",
		"bundle test a --run b --load c":                    "operon: --load is for pods, and with --run the operator runs in none: use one or the other",
		"bundle create --version 1.0.0":                     "operon: want --image IMAGE, which the pods of the operator run",
		"bundle create --version 1 --image a":               `operon: --version "1": want a semantic version, such as 1.2.0`,
		"bundle image":                                      "operon: want one directory with a bundle, got 0",
		"bundle image " + bundles + "/lamp":                 "operon: the image needs a name: --image NAME",
		"bundle image " + bundles + "/bell/1.0.0 --image x": "has the older layout: run operon bundle convert first",
		"bundle convert a":                                  "operon: want two directories: the package, and where to write the bundles",
		"bundle convert /nowhere " + empty:                  "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle convert " + bundles + " /proc":              "operon: ",
	}
	for call, got := range each(t, asOperonIn(t), maps.Keys(wants)) {
		if got.code != exitFailed || !strings.Contains(got.stderr, wants[call]) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

func TestBundleCreate(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "bundle")
	args := []string{"bundle", "create", "../../examples/memcached", "--version", "0.2.0", "--image", "registry.example.com/memcached:0.2.0", "--to", out}
	want := "memcached-operator.v0.2.0: " + out + ", in candidate, for OwnNamespace, SingleNamespace, MultiNamespace, AllNamespaces\n"
	if got := operon(t, args...); got.code != 0 || got.stdout != want {
		t.Errorf("exit %d, want %q\n%s%s", got.code, want, got.stdout, got.stderr)
	}
	var result create.Result
	next := append([]string{"-o", "json", "--previous", out}, args...)
	next = append(slices.DeleteFunc(next, func(arg string) bool { return arg == "0.2.0" || arg == "--version" }), "--version", "0.3.0", "--to", out+"-new")
	if got := operon(t, next...); got.code != 0 || json.Unmarshal([]byte(got.stdout), &result) != nil || result.Replaces != "memcached-operator.v0.2.0" {
		t.Errorf("exit %d, %+v\n%s%s", got.code, result, got.stdout, got.stderr)
	}
}

// A bundle with errors is not installed: the report has one error, and the exit code says so.
func TestBundleTestOfBrokenBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Copy(t, dir, bundles+"/lamp")
	testaid.Edit(t, filepath.Join(dir, "manifests/lamp.clusterserviceversion.yaml"), "spec:\n  displayName", "spec: [\n  displayName")
	got := operon(t, "bundle", "test", dir, "-o", "json")
	var report bundletest.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != exitFindings {
		t.Fatalf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if lint := report.Stages[0]; lint.Result != bundletest.Fail || strings.Count(lint.Message, "bundle-format") != 1 || report.Stages[1].Result != bundletest.Skipped {
		t.Errorf("the report is %+v", report)
	}
}

// The image of a bundle has its manifests and metadata, and its annotations as labels.
func TestBundleImage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lamp.tar")
	if got := operon(t, "bundle", "image", bundles+"/lamp", "--image", "lamp-bundle:1", "--tar", file); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	made, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if labels := config.Config.Labels; labels["operators.operatorframework.io.bundle.package.v1"] != "lamp-operator" || labels["operators.operatorframework.io.bundle.manifests.v1"] != "manifests/" {
		t.Errorf("the labels are %v", labels)
	}
	if platform := config.OS + "/" + config.Architecture; platform != "linux/amd64" {
		t.Errorf("it is for %s, and differs from one that was built on another machine", platform)
	}
	content := mutate.Extract(made)
	defer content.Close()
	files := map[string]bool{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = true
	}
	if !files["metadata/annotations.yaml"] || files["Dockerfile"] {
		t.Errorf("the files are %v", files)
	}
}

func TestBundleLint(t *testing.T) {
	t.Parallel()
	if got := operon(t, "bundle", "lint", bundles+"/lamp"); got.code != 0 || !strings.Contains(got.stdout, "no findings") {
		t.Errorf("a valid bundle: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	got := operon(t, "bundle", "lint", bundles, "-o", "json")
	var report doctor.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != exitFindings || len(report.Findings) != 7 {
		t.Errorf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if sarif := operon(t, "bundle", "lint", bundles, "-o", "sarif"); !strings.Contains(sarif.stdout, `"id": "crd-v1beta1"`) || strings.Contains(sarif.stdout, "rbac-wildcard") {
		t.Errorf("rules in SARIF: %s", sarif.stdout)
	}
	if rules := operon(t, "bundle", "lint", "--rules"); rules.code != 0 || !strings.Contains(rules.stdout, "csv-owned             error\n") {
		t.Errorf("exit %d\n%s", rules.code, rules.stdout)
	}
}

func TestBundleCheck(t *testing.T) {
	t.Parallel()
	if got := operon(t, "bundle", "check", bundles+"/lamp"); got.code != 0 || !strings.Contains(got.stdout, "1 bundle: 1 passed, 0 failed, 0 with a defect of Operon\n") || strings.Contains(got.stdout, "/lamp ") {
		t.Errorf("a valid bundle: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	all := filepath.Join(t.TempDir(), "all")
	if err := os.CopyFS(all, os.DirFS(bundles)); err != nil {
		t.Fatal(err)
	}
	mistake := filepath.Join(all, "lamp", "manifests", "lamp.clusterserviceversion.yaml")
	text, err := os.ReadFile(mistake)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mistake, bytes.Replace(text, []byte("strategy: deployment"), []byte("strategy: helm"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	got := operon(t, "bundle", "check", all, "-v")
	for _, want := range []string{
		"passed " + all + "/bell/1.0.0 bell.v1.0.0\n", "failed " + all + "/lamp lamp-operator.v1.1.0: csv-strategy: ", "       lamp-operator.v1.1.0 needs ",
		"error   csv-strategy           1\nwarning crd-v1beta1            2\n", "3 bundles: 2 passed, 1 failed, 0 with a defect of Operon\n", "2 packages: 2 passed",
	} {
		if got.code != exitFindings || !strings.Contains(got.stdout, want) {
			t.Errorf("exit %d, want %q\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
	got = operon(t, "bundle", "check", all, "-o", "json")
	var report check.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != exitFindings || len(report.Bundles) != 3 || report.Bundles[2].Outcome != check.Failed {
		t.Errorf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if sarif := operon(t, "bundle", "check", bundles, "-o", "sarif"); !strings.Contains(sarif.stdout, `"id": "operon-render"`) || !strings.Contains(sarif.stdout, `"ruleId": "crd-v1beta1"`) {
		t.Errorf("SARIF: %s", sarif.stdout)
	}
	if rules := operon(t, "bundle", "check", "--rules"); rules.code != 0 || !strings.Contains(rules.stdout, "package-graph         error\n") {
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
	none := filepath.Join(out, "none")
	if got := operon(t, "bundle", "convert", out+"/missing", none); got.code != exitFailed {
		t.Errorf("no bundles: exit %d\n%s", got.code, got.stderr)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed conversion leaves a directory: %v", err)
	}
	if again := operon(t, "bundle", "convert", bundles+"/bell", filepath.Join(out, "new")); again.code != exitFailed || !strings.Contains(again.stderr, "is not overwritten") {
		t.Errorf("existing files: exit %d\n%s", again.code, again.stderr)
	}
}
