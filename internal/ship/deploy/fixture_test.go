package deploy_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// fixture is the project of a small operator with its own name and API group, so that tests can share a cluster.
type fixture struct {
	dir, name, group string
	env              *localtest.Env
	client           kubernetes.Interface
	// where is the cluster. The default is the cluster of env.
	where up.Where
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return fixtureIn(t, localtest.Shared(t))
}

func fixtureIn(t *testing.T, env *localtest.Env) *fixture {
	t.Helper()
	name := "gadget-" + strings.ToLower(rand.Text()[:6])
	f := &fixture{dir: t.TempDir(), name: name, group: name + ".example.com", env: env, client: kubernetes.NewForConfigOrDie(env.Config)}
	testaid.Copy(t, f.dir, filepath.Join("..", "..", "tools", "up", "testdata", "gadget"), "GROUP", f.group, "PROJECT", f.name, "NAMESPACE", env.Namespace)
	t.Cleanup(func() { f.cleanUp(t) })
	return f
}

// cleanUp removes everything that the test left. It removes the operator first, so that nothing waits for it.
func (f *fixture) cleanUp(t *testing.T) {
	ctx, out := context.WithoutCancel(t.Context()), &output{}
	err := f.client.AppsV1().Deployments(f.namespace()).Delete(ctx, f.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	if _, err := deploy.Undeploy(ctx, deploy.UndeployOptions{Target: f.target(out), GiveUpFinalizers: true}); err != nil {
		t.Errorf("clean up: %v\n%s", err, out)
	}
}

// edit replaces text in one of the project's files.
func (f *fixture) edit(t *testing.T, file, old, new string) {
	t.Helper()
	testaid.Edit(t, filepath.Join(f.dir, file), old, new)
}

func (f *fixture) namespace() string { return f.name + "-system" }

func (f *fixture) target(out *output) deploy.Target {
	where := cmp.Or(f.where, up.Where{Kubeconfig: f.env.Kubeconfig})
	return deploy.Target{Dir: f.dir, Where: where, Timeout: timeout, Progress: out}
}

// timeout is the timeout of operations that must not fail, even if the machine is busy.
const timeout = 10 * time.Minute

// deploy deploys the fixture with changed options.
func (f *fixture) deploy(t *testing.T, change func(*deploy.Options)) (*deploy.Result, string, error) {
	t.Helper()
	out := &output{}
	options := deploy.Options{Target: f.target(out), Image: "registry.example.com/gadget:1.0"}
	if change != nil {
		change(&options)
	}
	result, err := deploy.Run(t.Context(), options)
	return result, out.String(), err
}

func (f *fixture) mustDeploy(t *testing.T, change func(*deploy.Options)) *deploy.Result {
	t.Helper()
	result, said, err := f.deploy(t, change)
	if err != nil {
		t.Fatalf("deploy: %v\n%s", err, said)
	}
	return result
}

func (f *fixture) undeploy(t *testing.T, change func(*deploy.UndeployOptions)) (*deploy.Removal, string, error) {
	t.Helper()
	out := &output{}
	options := deploy.UndeployOptions{Target: f.target(out)}
	if change != nil {
		change(&options)
	}
	result, err := deploy.Undeploy(context.WithoutCancel(t.Context()), options)
	return result, out.String(), err
}

func (f *fixture) gadgets() dynamic.ResourceInterface {
	return f.gadgetsIn(f.env.Namespace)
}

func (f *fixture) gadgetsIn(namespace string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(f.env.Config).Resource(schema.GroupVersionResource{Group: f.group, Version: "v1", Resource: "gadgets"}).Namespace(namespace)
}

// gadget returns a custom resource.
func (f *fixture) gadget(name string, finalizers ...string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	made.SetAPIVersion(f.group + "/v1")
	made.SetKind("Gadget")
	made.SetName(name)
	made.SetFinalizers(finalizers)
	return made
}

// output collects text from any goroutine.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
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

// refuses returns an error unless err contains all words.
func refuses(err error, words ...string) error {
	if err == nil {
		return errors.New("no error")
	}
	return lacks(err.Error(), words...)
}
