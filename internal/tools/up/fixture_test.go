package up_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// fixture is a copy of testdata/gadget with its own name and API group, so that tests can share a cluster.
type fixture struct {
	dir, name, group string
	env              *localtest.Env
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureIn(t, localtest.Shared(t))
}

func newFixtureIn(t *testing.T, env *localtest.Env) *fixture {
	t.Helper()
	name := "gadget-" + strings.ToLower(rand.Text()[:6])
	f := &fixture{dir: t.TempDir(), name: name, group: name + ".example.com", env: env}
	t.Cleanup(func() { f.mustDown(t) })
	testaid.Copy(t, f.dir, filepath.Join("testdata", "gadget"), "GROUP", f.group, "PROJECT", f.name, "NAMESPACE", f.env.Namespace)
	return f
}

// edit replaces text in one of the project's files.
func (f *fixture) edit(t *testing.T, file, old, new string) {
	t.Helper()
	testaid.Edit(t, filepath.Join(f.dir, file), old, new)
}

func (f *fixture) where() up.Where { return up.Where{Kubeconfig: f.env.Kubeconfig} }

// result is the result of one Run.
type result struct {
	stdout, stderr string
	err            error
}

// patience limits how long tests wait for a result. On an idle machine, it takes only a moment.
const patience = 10 * time.Minute

// once runs the project once.
func (f *fixture) once(t *testing.T, change func(*up.Options)) result {
	t.Helper()
	stdout, stderr := tempFile(t), tempFile(t)
	options := up.Options{Dir: f.dir, Where: f.where(), Mode: up.Once, Timeout: patience, Stdout: stdout, Stderr: stderr}
	if change != nil {
		change(&options)
	}
	err := up.Run(t.Context(), options)
	return result{contents(t, stdout), contents(t, stderr), err}
}

func tempFile(t *testing.T) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func contents(t *testing.T, file *os.File) string {
	t.Helper()
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// onceFails runs the project once. It repeats the run with a longer timeout if the error does not contain all words yet.
func (f *fixture) onceFails(t *testing.T, words ...string) {
	t.Helper()
	for limit := 3 * time.Second; ; limit *= 4 {
		got := f.once(t, func(o *up.Options) { o.Timeout = limit })
		if got.err == nil {
			t.Fatalf("no error\n%s", got.stdout)
		}
		text := got.err.Error()
		_, ran := errors.AsType[up.NotReadyError](got.err)
		if ran != (strings.Contains(text, "not ready after") || strings.Contains(text, "the operator exited")) {
			t.Errorf("NotReadyError: %v, for %v", ran, got.err)
		}
		err := lacks(text, words...)
		if err == nil {
			return
		}
		if limit > patience {
			t.Fatal(err)
		}
	}
}

// down removes the project from the cluster.
func (f *fixture) down(ctx context.Context, timeout time.Duration) (string, error) {
	var out bytes.Buffer
	err := up.Down(ctx, up.DownOptions{Dir: f.dir, Where: f.where(), Timeout: timeout, Out: &out})
	return out.String(), err
}

func (f *fixture) mustDown(t *testing.T) {
	if _, err := f.down(context.WithoutCancel(t.Context()), patience); err != nil {
		t.Errorf("down: %v", err)
	}
}

func (f *fixture) gadgets(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(f.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: f.group, Version: "v1", Resource: "gadgets"}).Namespace(f.env.Namespace)
}

func (f *fixture) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(f.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// noOperator checks that no process runs the operator of this project.
func (f *fixture) noOperator(t *testing.T) {
	t.Helper()
	// A killed process, such as a compiler, may still exist for a moment.
	localtest.Eventually(t, "no process in the project's directory", func(context.Context) error {
		processes, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return err
		}
		for _, process := range processes {
			if dir, err := os.Readlink(filepath.Join(process, "cwd")); err == nil && dir == f.dir {
				return fmt.Errorf("process %s runs in %s", filepath.Base(process), dir)
			}
		}
		return nil
	})
}

// lacks returns an error unless text contains all words.
func lacks(text string, words ...string) error {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return errors.New("no " + word + " in:\n" + text)
		}
	}
	return nil
}

var getOptions = metav1.GetOptions{}
