package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/ship/bundle/bundletest"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

const notesCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: notes.v1.0.0
  annotations:
    alm-examples: |
      [{"apiVersion": "shell.operon.dev/v1", "kind": "Note", "metadata": {"name": "shopping"}, "spec": {"text": "bread and milk"}}]
spec:
  displayName: Notes
  description: Keeps notes.
  version: 1.0.0
  minKubeVersion: 1.28.0
  provider: {name: Example}
  installModes:
  - {type: OwnNamespace, supported: false}
  - {type: SingleNamespace, supported: false}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: notes.shell.operon.dev, version: v1, kind: Note, displayName: Note, description: A note.}
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: notes
        rules:
        - {apiGroups: [shell.operon.dev], resources: [notes, notes/status], verbs: [get, list, watch, update, patch]}
        - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}
      deployments:
      - name: notes
        spec:
          selector: {matchLabels: {app: notes}}
          template:
            metadata: {labels: {app: notes}}
            spec:
              serviceAccountName: notes
              containers:
              - name: manager
                image: registry.example.com/notes:1.0.0
                resources: {requests: {cpu: 10m, memory: 64Mi}}
`

// A bundle whose operator is a Python program is tested, and faults are injected into the operator.
func TestBundleTestInjectsFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shell, err := filepath.Abs("../../prove/testdata/shell")
	if err != nil {
		t.Fatal(err)
	}
	crd, err := os.ReadFile(filepath.Join(shell, "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"manifests/notes.clusterserviceversion.yaml": notesCSV, "manifests/notes.crd.yaml": string(crd),
		"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: notes
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`,
	} {
		testaid.Write(t, filepath.Join(dir, "bundle", file), text)
	}
	command := asOperonIn(t, "bundle", "test", "bundle", "--run", "exec python3 "+filepath.Join(shell, "notes.py"), "--prove", "3s", "-o", "json")
	command.Dir, command.Env = dir, append(newReader(t).env, asOperon+"=yes")
	got := ended(t, command)
	var tested bundletest.Report
	if err := json.Unmarshal([]byte(got.stdout), &tested); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	last := tested.Stages[len(tested.Stages)-1]
	if last.Name != "prove" || last.Result != bundletest.Pass || !slices.Contains(last.Notes, "the report: operon-prove/report.html") || slices.Contains(last.Notes, "0 test cases with faults") {
		t.Errorf("the last stage is %+v", last)
	}
	for _, file := range []string{"report.html", "bundle/crds.yaml", "bundle/rbac.yaml", "bundle/samples.yaml"} {
		if about, err := os.Stat(filepath.Join(dir, "operon-prove", file)); err != nil || about.Size() == 0 || about.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, about, err)
		}
	}
}

// Findings that fail the test are in the report of the bundle, with the command that replays them.
func TestFindingsOfABundle(t *testing.T) {
	t.Parallel()
	got := provenBundle(&report.Report{Plans: report.Plans{Run: 7}, Findings: []finding.Finding{
		{Property: "same-state", Message: "a ConfigMap is missing", File: "operon-prove/plans/01.json"}, {Property: "needed", Message: "a rule", Level: finding.Note}, {Property: "alive", Message: "known", Accepted: "yes"},
	}}, []report.File{{What: "JSON", Path: "report.json"}, {What: "page", Path: "report.html"}})
	if strings.Join(got.Failures, "\n") != "same-state: a ConfigMap is missing (operon prove --trust-file --replay operon-prove/plans/01.json)" ||
		strings.Join(got.Notes, "\n") != "7 test cases with faults\nthe report: report.html" {
		t.Errorf("got %+v", got)
	}
}
