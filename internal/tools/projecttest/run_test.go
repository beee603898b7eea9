package projecttest_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/projecttest"
	"github.com/operon-framework/operon/internal/tools/projecttest/molecule"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// passed are the steps of a project with the stock scenario and one sample.
var passed = []string{"ok prepare", "ok converge", "ok verify", "ok ready", "ok idempotent", "ok deleted"}

// The stock scenario of Operator SDK's Ansible projects passes, and no file of the project is changed.
func TestTheStockScenario(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	before := contents(t, f.dir)
	got, report := f.steps(t, nil)
	if !slices.Equal(got, passed) {
		t.Errorf("got %q, want %q", got, passed)
	}
	if sample := "Kiosk " + f.name + "-test-system/kiosk-sample"; report.Steps[3].Object != sample || report.Scenario != "default" {
		t.Errorf("%+v", report)
	}
	if after := contents(t, f.dir); after != before {
		t.Errorf("the project was changed: %s", after)
	}
}

// contents returns the names and contents of all files.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		all.WriteString(path + "\n" + testaid.Read(t, path) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A test that fails is named, and not the task in verify.yml that runs because of it. The samples are checked nevertheless.
func TestAFailingTaskIsNamed(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.add(t, `
- name: Two servers
  assert:
    that: 1 == 2
    fail_msg: there is one server
`)
	steps := slices.Clone(passed)
	steps[2] = "failed verify"
	step := f.failsIn(t, patience, steps, "there is one server")
	want := molecule.Task{Name: "Two servers", File: "molecule/default/tasks/kiosk_test.yml", Line: 15}
	if step.Task == nil || *step.Task != want {
		t.Errorf("got %+v, want %+v", step.Task, want)
	}
}

// A task that hangs is ended, with its processes.
func TestAHangingTaskIsEnded(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.edit(t, "molecule/default/converge.yml", "  tasks:\n", "  tasks:\n    - name: Wait for good\n      command: sleep 3600\n")
	if err := os.RemoveAll(filepath.Join(f.dir, "config/samples")); err != nil { // the limit is for each step, and they may need longer
		t.Fatal(err)
	}
	step := f.failsIn(t, 6*time.Second, []string{"ok prepare", "failed converge", "skipped verify"}, "not done after")
	if step.Task == nil || step.Task.Name != "Wait for good" {
		t.Errorf("got %+v", step.Task)
	}
}

// hang makes the scenario create a file and wait, and returns the file.
func (f *fixture) hang(t *testing.T) string {
	t.Helper()
	hangs := filepath.Join(t.TempDir(), "hangs")
	f.add(t, "\n- name: Wait for good\n  shell: touch "+hangs+"; exec sleep 3600\n")
	return hangs
}

func exists(file string) func(context.Context) error {
	return func(context.Context) error { _, err := os.Stat(file); return err }
}

// If the command is interrupted, it ends the playbook and removes everything.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	hangs := f.hang(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted by the test")
	go func() {
		localtest.Eventually(t, "the task", exists(hangs))
		cancel(reason)
	}()
	if report, err := f.run(ctx, t, nil); report != nil || !errors.Is(err, reason) {
		t.Errorf("%+v, %v", report, err)
	}
}

// What a killed command has left is removed by the next one, unless somebody else has created objects of the kind meanwhile.
func TestKilled(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	hangs := f.hang(t)
	killed := exec.Command(os.Args[0])
	killed.Env = append(os.Environ(), asTest+"="+f.dir, "KUBECONFIG="+f.env.Kubeconfig)
	killed.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the task", exists(hangs))
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	where := up.Where{Kubeconfig: f.env.Kubeconfig}
	if err := up.Run(t.Context(), up.Options{Dir: f.dir, Where: where, Mode: up.Once, Timeout: patience, Stdout: nowhere(t), Stderr: nowhere(t)}); err == nil || !strings.Contains(err.Error(), "was installed by `operon test`") {
		t.Errorf("`operon up` takes over what a test has left: %v", err)
	}
	kiosks := dynamic.NewForConfigOrDie(f.env.Config).Resource(schema.GroupVersionResource{Group: f.group, Version: "v1alpha1", Resource: "kiosks"}).Namespace(f.env.Namespace)
	theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": f.group + "/v1alpha1", "kind": "Kiosk", "metadata": map[string]any{
		"name": "theirs", "finalizers": []any{"example.com/theirs"},
	}}}
	if _, err := kiosks.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := projecttest.Run(t.Context(), projecttest.Options{Dir: f.dir, Where: where, Progress: nowhere(t)}); err == nil || !strings.Contains(err.Error(), "Kiosk "+f.env.Namespace+"/theirs") {
		t.Errorf("the error is %v", err)
	}
	if found, err := kiosks.Get(t.Context(), "theirs", metav1.GetOptions{}); err != nil || found.GetDeletionTimestamp() != nil || len(found.GetFinalizers()) == 0 {
		t.Errorf("the object of somebody else: %v, %v", found, err)
	}
	if _, err := kiosks.Patch(t.Context(), "theirs", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	if err := kiosks.Delete(t.Context(), "theirs", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	f.edit(t, "molecule/default/tasks/kiosk_test.yml", "exec sleep 3600", "true")
	if got, _ := f.steps(t, nil); !slices.Equal(got, passed) {
		t.Errorf("got %q, want %q", got, passed)
	}
}

// A project without a scenario and without Ansible.
func TestAProjectOfAHelmChart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "helm-sdk", "charts.example.com", "till-operator")
	want := []string{"ok ready", "ok idempotent", "ok deleted"}
	if got, _ := f.steps(t, nil); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// nowhere returns a file that takes everything.
func nowhere(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

// What `operon up` has installed is left alone.
func TestKindsOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "helm-sdk", "charts.example.com", "till-operator")
	where := up.Where{Kubeconfig: f.env.Kubeconfig}
	nowhere := nowhere(t)
	t.Cleanup(func() {
		if err := up.Down(context.WithoutCancel(t.Context()), up.DownOptions{Dir: f.dir, Where: where, Timeout: patience, Out: nowhere}); err != nil {
			t.Error(err)
		}
	})
	if err := up.Run(t.Context(), up.Options{Dir: f.dir, Where: where, Mode: up.Once, Timeout: patience, Stdout: nowhere, Stderr: nowhere}); err != nil {
		t.Fatal(err)
	}
	_, err := projecttest.Run(t.Context(), projecttest.Options{Dir: f.dir, Where: where, Progress: nowhere})
	if err == nil || !strings.Contains(err.Error(), "CustomResourceDefinition tills."+f.group) || !strings.Contains(err.Error(), "installed by `operon up`") {
		t.Errorf("%v", err)
	}
}
