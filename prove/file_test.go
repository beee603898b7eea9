package prove_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/prove"
)

func TestFileIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plans", "one.json")
	want := prove.File{
		Format: "operon-prove/1", Target: prove.Target{Dir: "/project"}, Finding: "silent|Box|it goes on", Seed: 7, Settle: time.Second,
		Plan: testplan.Plan{
			Name:     "one",
			Workload: workload.Workload{Name: "w", Steps: []workload.Step{{Name: "delete", Delete: []workload.Ref{{APIVersion: "v1", Kind: "Secret", Name: "one"}}}}},
			Faults:   []fault.Fault{{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Nth: 2}}},
		},
	}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // it must not stay so
		t.Fatal(err)
	}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := prove.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(*got, want) {
		t.Errorf("read is %+v", got)
	}
	if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", about.Mode(), err)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"format": "operon-prove/0"}`:                   `format "operon-prove/0" is not supported, only "operon-prove/1"`,
		`{"format": "operon-prove/1", "surprise": true}`: "surprise",
		`{"format"`: "not a plan file",
		``:          `want format: operon-prove/1`,
	} {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := prove.ReadFile(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestTargetThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, target := range map[string]prove.Target{
		"no samples: set":         {Run: "true"},
		"a project and a command": {Run: "true", Dir: "."},
		"contains no objects":     {Run: "true", Samples: empty},
		"no such file":            {Run: "true", Samples: "nowhere.yaml"},
		"contains no Role":        {Run: "true", Samples: "../test/testdata/boxes.yaml", RBAC: "../test/testdata/boxes.yaml"},
		"go.mod":                  {Dir: t.TempDir()},
	} {
		if _, err := target.Load(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", target, err)
		}
	}
}

// If a plan file does not exist, the error says which command writes plan files.
func TestNoFile(t *testing.T) {
	t.Parallel()
	if _, err := prove.ReadFile(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the error is %v", err)
	}
}
