package deploy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// A deployment is complete when Run returns, and a second one changes nothing.
func TestDeploy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.mustDeploy(t, nil)
	if first.Replicas != 2 || !first.Simulated || len(first.Created) < 8 || len(first.Changed)+len(first.Pruned) > 0 {
		t.Errorf("first: %+v", first)
	}
	namespace, err := f.client.CoreV1().Namespaces().Get(t.Context(), f.namespace(), metav1.GetOptions{})
	if err != nil || namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("the namespace has the labels %v, %v", namespace.Labels, err)
	}
	second := f.mustDeploy(t, nil)
	if len(second.Created)+len(second.Changed)+len(second.Pruned) > 0 || len(second.Unchanged) != len(first.Created) {
		t.Errorf("second: %+v", second)
	}
}

// Objects that an earlier deployment created and this one does not have are deleted. Manual changes are reverted.
func TestDeployAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	if err := f.client.PolicyV1().PodDisruptionBudgets(f.namespace()).Delete(t.Context(), f.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.edit(t, "config/rbac/role.yaml", "kind: ClusterRole\n", "kind: Role\n")
	again := f.mustDeploy(t, func(o *deploy.Options) { o.Image, o.Replicas, o.Memory = "registry.example.com/gadget:2.0", 3, "32Mi" })
	if want := []string{"ClusterRole " + f.name, "ClusterRoleBinding " + f.name}; !slices.Equal(again.Pruned, want) {
		t.Errorf("pruned %q, want %q", again.Pruned, want)
	}
	if want := []string{"PodDisruptionBudget " + f.namespace() + "/" + f.name}; !slices.Equal(again.Created, want) {
		t.Errorf("created %q, want %q", again.Created, want)
	}
	if !slices.Contains(again.Changed, "Deployment "+f.namespace()+"/"+f.name) || again.Replicas != 3 {
		t.Errorf("changed %q, %d ready", again.Changed, again.Replicas)
	}
	localtest.Eventually(t, "the end of the ClusterRole", func(ctx context.Context) error {
		_, err := f.client.RbacV1().ClusterRoles().Get(ctx, f.name, metav1.GetOptions{})
		return gone(err)
	})
	f.limited(t, "32Mi")
}

// limited checks that pods have this memory limit, and do not request more.
func (f *fixture) limited(t *testing.T, memory string) {
	t.Helper()
	deployment, err := f.client.AppsV1().Deployments(f.namespace()).Get(t.Context(), f.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	resources := deployment.Spec.Template.Spec.Containers[0].Resources
	if limit, request := resources.Limits.Memory().String(), resources.Requests.Memory().String(); limit != memory || request != memory {
		t.Errorf("pods may take %s and ask for %s, want %s", limit, request, memory)
	}
}

// A dry run writes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dry := f.mustDeploy(t, func(o *deploy.Options) { o.DryRun = true })
	if !dry.DryRun || !slices.Contains(dry.Created, "CustomResourceDefinition gadgets."+f.group) || len(dry.Untried) == 0 {
		t.Errorf("%+v", dry)
	}
	if _, err := f.client.CoreV1().Namespaces().Get(t.Context(), f.namespace(), metav1.GetOptions{}); err == nil {
		t.Error("the namespace is there")
	}
	widgets := f.addWidgets(t)
	f.mustDeploy(t, nil)
	if err := os.Remove(widgets); err != nil {
		t.Fatal(err)
	}
	dry = f.mustDeploy(t, func(o *deploy.Options) { o.DryRun, o.Image = true, "other:1" })
	if !slices.Equal(dry.Changed, []string{"Deployment " + f.namespace() + "/" + f.name}) || len(dry.Created)+len(dry.Untried)+len(dry.Pruned) > 0 {
		t.Errorf("%+v", dry)
	}
	if !slices.Equal(dry.Kept, []string{"CustomResourceDefinition widgets." + f.group}) {
		t.Errorf("%+v", dry)
	}
	deployment, err := f.client.AppsV1().Deployments(f.namespace()).Get(t.Context(), f.name, metav1.GetOptions{})
	if err != nil || deployment.Spec.Template.Spec.Containers[0].Image == "other:1" {
		t.Errorf("it was written: %v", err)
	}
}

// A program does not replace another one that has the same name by accident.
func TestDeployOverAnotherProgram(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	testaid.Write(t, filepath.Join(f.dir, "cmd", "other", "main.go"), testaid.Read(t, filepath.Join(f.dir, "main.go")))
	_, _, err := f.deploy(t, func(o *deploy.Options) { o.Main = "cmd/other" })
	if missing := refuses(err, "another program with the name "+f.name+", . of module example.com/"+f.name, "operon undeploy"); missing != nil {
		t.Error(missing)
	}
	f.edit(t, "go.mod", "example.com/", "example.org/")
	_, _, err = f.deploy(t, nil)
	if missing := refuses(err, "another program with the name "+f.name); missing != nil {
		t.Error(missing)
	}
	f.edit(t, "go.mod", "example.org/"+f.name, "example.com/"+f.name+"/v2")
	if err := os.Rename(filepath.Join(f.dir, "main.go"), filepath.Join(f.dir, "cmd", "main.go")); err != nil {
		t.Fatal(err)
	}
	f.mustDeploy(t, func(o *deploy.Options) { o.Main = "cmd" }) // the next major version, whose main package was moved
}

// Pods that do not become ready are reported, with the reason and a solution.
func TestNotReady(t *testing.T) {
	t.Parallel()
	for fail, want := range map[string]string{
		"image-pull":  "the image registry.example.com/gadget:1.0 cannot be pulled",
		"crash-loop":  "the operator exits right after startup, with exit code 1",
		"never-ready": "runs, but is not ready",
	} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			var missing, err error
			for patience := 3 * time.Second; patience < timeout; patience *= 4 { // the first is enough if the machine is not busy
				var said string
				_, said, err = f.deploy(t, func(o *deploy.Options) {
					o.PodAnnotations = map[string]string{"sim.operon.dev/fail": fail}
					if fail == "never-ready" {
						o.Timeout = patience
					}
				})
				if missing = refuses(err, want, "operon undeploy"); missing == nil {
					break
				}
				missing = fmt.Errorf("%w\n%s", missing, said)
			}
			if missing != nil {
				t.Fatal(missing)
			}
			if fail == "crash-loop" && !strings.Contains(err.Error(), "its log") {
				t.Errorf("no log in %v", err)
			}
		})
	}
}

// Pods of an earlier deployment that failed are not confused with the new ones, which take time to start.
func TestAfterACrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, _, err := f.deploy(t, func(o *deploy.Options) { o.PodAnnotations = map[string]string{"sim.operon.dev/fail": "crash-loop"} }); err == nil {
		t.Fatal("it is ready")
	}
	f.mustDeploy(t, func(o *deploy.Options) { o.PodAnnotations = map[string]string{"sim.operon.dev/start-after": "8s"} })
}
