package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// The workflows that `operon init --ci` writes work as described: their commands run one at a time, except the ones that need
// GitHub or a released version of Operon. The release contains the files that install the operator.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.paste("operon init web-operator --ci --module workflows.example.com/web-operator\ncd web-operator\n" +
		"operon create api --group web --version v1alpha1 --kind Site\n")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/team/web-operator"
	r.env = append(r.env, "HOME="+r.dir, "IMAGE="+image, "GITHUB_REF_NAME=v1.2.3", "REGISTRY_USER=somebody", "REGISTRY_PASSWORD=secret",
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	r.workflow(".github/workflows/test.yaml", "operon generate --check", "operon lint", "go test ./...")
	r.workflow(".github/workflows/release.yaml", "operon build", "operon generate")

	tagged, err := name.NewTag(image + ":v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tagged)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) < 2 {
		t.Errorf("the image is %+v, %v", manifest, err)
	}
	install, err := os.ReadFile(filepath.Join(r.dir, "dist", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: CustomResourceDefinition", "kind: ServiceAccount", "kind: ClusterRoleBinding", "kind: Deployment", "image: " + image + ":v1.2.3"} {
		if !strings.Contains(string(install), want) {
			t.Errorf("dist/install.yaml lacks %q", want)
		}
	}
	chart, err := name.NewTag(strings.TrimSuffix(image, "web-operator") + "charts/web-operator:1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Image(chart); err != nil {
		t.Errorf("the chart is not in the registry: %v", err)
	}
	r.paste("tar -tzf dist/web-operator-1.2.3.tgz | grep -qx web-operator/Chart.yaml\n")
	r.paste("test \"$(stat -c %a .docker/config.json)\" = 600\n")
}

// goEnv returns a setting of go. It is for commands for which $HOME is another directory.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	r := &reader{t: t, dir: t.TempDir(), env: os.Environ()}
	r.paste("go env " + name + " > value\n")
	value, err := os.ReadFile(filepath.Join(r.dir, "value"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}

// workflow runs the commands in the steps of a workflow. They must include the wanted ones.
func (r *reader) workflow(file string, wanted ...string) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		r.t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(content, &workflow); err != nil {
		r.t.Fatal(err)
	}
	ran := ""
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Run == "" || step.Name == "install operon" || step.Name == "publish" {
				continue
			}
			r.paste(step.Run + "\n")
			ran += step.Run + "\n"
		}
	}
	for _, want := range wanted {
		if !strings.Contains(ran, want) {
			r.t.Errorf("%s: no step runs %q", file, want)
		}
	}
}
