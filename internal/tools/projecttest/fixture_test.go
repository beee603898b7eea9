package projecttest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/projecttest"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// patience limits how long tests wait for a step. On an idle machine, it takes only a moment.
const patience = 10 * time.Minute

// fixture is a copy of a project with its own name and API group, so that tests can share a cluster.
type fixture struct {
	dir, name, group string
	env              *localtest.Env
}

// newFixture copies a project of package project, whose samples are of the kind in lower case.
func newFixture(t *testing.T, of, group, name string) *fixture {
	t.Helper()
	id := strings.ToLower(rand.Text()[:6])
	f := &fixture{dir: filepath.Join(t.TempDir(), "project"), name: "o-" + id, group: id + ".example.com", env: localtest.Shared(t)}
	from := filepath.Join("..", "project", "testdata", of)
	if err := os.CopyFS(f.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer(group, f.group, name, f.name)
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			testaid.Write(t, path, words.Replace(testaid.Read(t, path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newAnsible(t *testing.T) *fixture {
	t.Helper()
	testaid.NeedsAnsible(t)
	return newFixture(t, "ansible-sdk", "cache.example.com", "kiosk-operator")
}

// edit replaces text in a file of the project.
func (f *fixture) edit(t *testing.T, file, old, new string) {
	t.Helper()
	testaid.Edit(t, filepath.Join(f.dir, file), old, new)
}

// add adds text to the tests of the scenario.
func (f *fixture) add(t *testing.T, tasks string) {
	t.Helper()
	f.edit(t, "molecule/default/tasks/kiosk_test.yml", "cr_file: 'cache_v1alpha1_kiosk.yaml'\n", "cr_file: 'cache_v1alpha1_kiosk.yaml'\n"+tasks)
}

// write writes a file of the project, and replaces words in it, which are pairs of old and new.
func (f *fixture) write(t *testing.T, file, text string, words ...string) {
	t.Helper()
	testaid.Write(t, filepath.Join(f.dir, file), strings.NewReplacer(words...).Replace(text))
}

// prepend adds text at the beginning of a file.
func (f *fixture) prepend(t *testing.T, file, text string) {
	t.Helper()
	f.write(t, file, text+testaid.Read(t, filepath.Join(f.dir, file)))
}

// withoutScenario removes the scenario, because a test is about samples.
func (f *fixture) withoutScenario(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, "molecule")); err != nil {
		t.Fatal(err)
	}
}

// run tests the project, and checks that nothing is left.
func (f *fixture) run(ctx context.Context, t *testing.T, change func(*projecttest.Options)) (*projecttest.Report, error) {
	t.Helper()
	progress, err := os.CreateTemp(t.TempDir(), "progress")
	if err != nil {
		t.Fatal(err)
	}
	defer progress.Close()
	options := projecttest.Options{Dir: f.dir, Where: up.Where{Kubeconfig: f.env.Kubeconfig}, Timeout: patience, Progress: progress}
	if change != nil {
		change(&options)
	}
	report, err := projecttest.Run(ctx, options)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v, %v\n%s", report, err, testaid.Read(t, progress.Name()))
		}
	})
	f.nothingLeft(t)
	return report, err
}

// steps returns the steps of a test that ended, as "result name".
func (f *fixture) steps(t *testing.T, change func(*projecttest.Options)) ([]string, *projecttest.Report) {
	t.Helper()
	report, err := f.run(t.Context(), t, change)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range report.Steps {
		steps = append(steps, string(step.Result)+" "+step.Name)
	}
	return steps, report
}

// failsIn tests the project, and checks the steps and what the failed one reports. It repeats the test with a longer timeout if words are
// missing.
func (f *fixture) failsIn(t *testing.T, limit time.Duration, steps []string, words ...string) projecttest.Step {
	t.Helper()
	for ; ; limit *= 2 {
		got, report := f.steps(t, func(o *projecttest.Options) { o.Timeout = limit })
		at := slices.IndexFunc(report.Steps, func(s projecttest.Step) bool { return s.Result == projecttest.Failed })
		missing := ""
		if at >= 0 {
			for _, word := range words {
				if !strings.Contains(report.Steps[at].Message, word) {
					missing = word
				}
			}
		}
		if slices.Equal(got, steps) && missing == "" {
			return report.Steps[at]
		}
		if limit >= patience {
			t.Fatalf("got %q, want %q; missing: %q", got, steps, missing)
		}
	}
}

// nothingLeft checks that no process runs in the project's directory, and that the cluster has nothing of the project.
func (f *fixture) nothingLeft(t *testing.T) {
	t.Helper()
	localtest.Eventually(t, "no process in the project's directory", func(context.Context) error {
		processes, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return err
		}
		for _, process := range processes {
			if dir, err := os.Readlink(filepath.Join(process, "cwd")); err == nil && strings.HasPrefix(dir, f.dir) {
				return fmt.Errorf("process %s runs in %s", filepath.Base(process), dir)
			}
		}
		return nil
	})
	ctx := context.WithoutCancel(t.Context())
	client, err := kubernetes.NewForConfig(f.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, f.name+"-test-system", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is left: %v", err)
	}
	if _, err := client.RbacV1().ClusterRoles().Get(ctx, f.name+"-test-manager-role", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole is left: %v", err)
	}
	if groups, err := client.ServerGroups(); err != nil || slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == f.group }) {
		t.Errorf("the CRD is left: %v", err)
	}
}
