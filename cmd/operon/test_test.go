package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// Directories that cannot be tested are reported in one line, before a cluster is started.
func TestProjectsThatCannotBeTested(t *testing.T) {
	t.Parallel()
	const ansible = "../../internal/tools/project/testdata/ansible-sdk"
	dir := t.TempDir()
	empty, unsampled, bare := filepath.Join(dir, "empty"), filepath.Join(dir, "unsampled"), filepath.Join(dir, "bin")
	for _, made := range []string{empty, bare} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(unsampled, os.DirFS(ansible)); err != nil {
		t.Fatal(err)
	}
	for _, removed := range []string{"molecule", "config/samples"} {
		if err := os.RemoveAll(filepath.Join(unsampled, removed)); err != nil {
			t.Fatal(err)
		}
	}
	wants := map[string]string{
		"test nowhere":                                    "directory nowhere does not exist",
		"test " + empty:                                   "has no watches.yaml: name the directory of a project of Helm charts or Ansible roles",
		"test ../../examples/memcached":                   "is a Go project: test it with `go test ./...`",
		"test " + ansible + " --scenario upgrade":         `the project has no scenario "upgrade"`,
		"test " + ansible:                                 "ansible-playbook is not found; install Ansible, for example with apt-get install ansible python3-kubernetes",
		"test " + unsampled:                               "has nothing to test: there are no samples in config/samples, and no scenario in molecule/default",
		"test " + ansible + " --timeout 0s":               "--timeout 0s: want a duration above 0, such as 2m",
		"test " + ansible + " --cluster a --kubeconfig b": "--cluster is for local clusters",
		"test ../../examples/mysqlcluster-helm -o xml":    "-o xml: want text, json or yaml",
	}
	command := asOperonIn(t)
	command.Env = append(command.Env, "PATH="+bare, "VIRTUAL_ENV=")
	for call, got := range each(t, command, maps.Keys(wants)) {
		if want := wants[call]; got.code != exitFailed || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "called with") {
			t.Errorf("%s: exit %d, %s; want %s", call, got.code, got.stderr, want)
		}
		if lines := strings.Count(got.stderr, "\n"); lines > 2 {
			t.Errorf("%s: %d lines: %s", call, lines, got.stderr)
		}
	}
}

// A project is tested beside `operon up`, and the cluster does not stay.
func TestDefaultClusterOfTests(t *testing.T) {
	for _, one := range []struct {
		given       up.Where
		environment string
		want        up.Where
	}{
		{want: up.Where{Name: localtest.SharedName, TTL: 10 * time.Minute}},
		{environment: "dev", want: up.Where{Name: "dev"}},
		{given: up.Where{Name: "mine"}, environment: "dev", want: up.Where{Name: "mine"}},
		{given: up.Where{Context: "staging"}, environment: "dev", want: up.Where{Context: "staging"}},
	} {
		t.Setenv(clusterVariable, one.environment)
		got := one.given
		if err := resolveTest(&got); err != nil || got != one.want {
			t.Errorf("%+v, $%s=%s: %+v, %v, want %+v", one.given, clusterVariable, one.environment, got, err, one.want)
		}
	}
}

// The report is printed, and a step that failed is the exit code.
func TestReportOfATest(t *testing.T) {
	t.Parallel()
	kubeconfig := localtest.Shared(t).Kubeconfig
	project := filepath.Join(t.TempDir(), "report-operator")
	if err := os.CopyFS(project, os.DirFS("../../internal/tools/project/testdata/helm-sdk")); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("charts.example.com", "report.example.com", "till-operator", "report-operator")
	for _, file := range []string{"PROJECT", "watches.yaml", "config/crd/bases/charts.example.com_tills.yaml", "config/rbac/role.yaml", "config/samples/charts_v1alpha1_till.yaml", "config/default/kustomization.yaml"} {
		path := filepath.Join(project, file)
		testaid.Write(t, path, words.Replace(testaid.Read(t, path)))
	}
	testaid.Edit(t, filepath.Join(project, "config/samples/charts_v1alpha1_till.yaml"), "kind: Till", "kind: Tell")
	got := operon(t, "test", project, "--kubeconfig", kubeconfig, "-o", "json")
	if got.code != exitFindings || !strings.HasPrefix(got.stdout, "{\n  \"project\": \"report-operator\"") || !strings.Contains(got.stdout, `"result": "failed"`) {
		t.Errorf("exit %d, %s, %s", got.code, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stdout, "config/samples/charts_v1alpha1_till.yaml:1") {
		t.Errorf("no place: %s", got.stdout)
	}
}
