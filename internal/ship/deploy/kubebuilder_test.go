package deploy_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate"
	"github.com/operon-framework/operon/local/localtest"
)

// testKubebuilder: a kubebuilder project runs unchanged, except for its webhooks.
func testKubebuilder(t *testing.T, c *containers) {
	p := c.project(t, kubebuilderProject(t), "pages-operator")
	p.deploy(t, func(o *deploy.Options) { o.WithoutWebhooks = true })
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"title": "Home", "pages": int64(3)}}}
	made.SetAPIVersion("web.layout.test/v1")
	made.SetKind("Site")
	made.SetName("home")
	create(t, c.objects(schema.GroupVersionResource{Group: "web.layout.test", Version: "v1", Resource: "sites"}, c.env.Namespace), made)
	localtest.Eventually(t, "the pages", func(ctx context.Context) error {
		pages, err := c.client.CoreV1().ConfigMaps(c.env.Namespace).Get(ctx, "home-pages", metav1.GetOptions{})
		if err == nil && pages.Data["pages"] != "3" {
			err = errors.New(pages.Data["pages"])
		}
		return err
	})
	p.undeploy(t)
}

// kubebuilderProject creates a project with its own name, all files that `make generate manifests` would write, and the
// modules of this repository, which are compiled already.
func kubebuilderProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../tools/project/testdata/v4")); err != nil {
		t.Fatal(err)
	}
	testaid.Edit(t, filepath.Join(dir, "PROJECT"), "projectName: site-operator", "projectName: pages-operator")
	useModules(t, dir)
	plan, err := generate.Plan(t.Context(), dir, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// useModules makes the project use modules in the same versions as this repository.
func useModules(t *testing.T, dir string) {
	t.Helper()
	testaid.Write(t, filepath.Join(dir, "go.mod"), strings.Replace(testaid.Read(t, "../../../go.mod"), "module github.com/operon-framework/operon\n", "module example.com/web\n", 1))
	testaid.Write(t, filepath.Join(dir, "go.sum"), testaid.Read(t, "../../../go.sum"))
	more := exec.CommandContext(t.Context(), "go", "mod", "edit", "-require=github.com/go-logr/zapr@v1.3.0")
	more.Dir = dir
	if said, err := more.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}
