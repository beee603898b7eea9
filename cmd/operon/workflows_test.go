package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// The workflows that `operon init --ci` writes work as described: their commands run one at a time, except the ones that need
// GitHub, root or a released version of Operon, and `operon prove`, which takes all of its budget. The release contains the files that
// install the operator.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	for operator, create := range map[string]struct {
		commands, tests string
		platforms       int
	}{
		"web-operator": {
			"operon init web-operator --ci --module workflows.example.com/web-operator\ncd web-operator\noperon create api --group web --version v1alpha1 --kind Site\n",
			"go test ./...", 2,
		},
		"till-operator":  {"operon init till-operator --ci --from helm operon/engine/helm/testdata/till/helm-charts/till\ncd till-operator\n", "", 1},
		"kiosk-operator": {"operon init kiosk-operator --ci --from ansible\ncd kiosk-operator\n", "", 1},
	} {
		t.Run(operator, func(t *testing.T) {
			t.Parallel()
			r := newReader(t)
			r.clone()
			r.paste(create.commands)
			if operator == "till-operator" { // compiling the engine for a second platform takes minutes, and web-operator is built for two
				testaid.Edit(t, filepath.Join(r.dir, ".github", "workflows", "release.yaml"), "--platform linux/amd64,linux/arm64", "--platform linux/amd64")
			}
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			t.Cleanup(server.Close)
			team := strings.TrimPrefix(server.URL, "http://") + "/team"
			r.env = append(r.env, "HOME="+r.dir, "IMAGE="+team+"/"+operator, "GITHUB_REF_NAME=v1.2.3", "REGISTRY_USER=somebody", "REGISTRY_PASSWORD=secret",
				"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
			r.workflow(".github/workflows/test.yaml", "operon generate --check", "operon lint", create.tests)
			r.workflow(".github/workflows/release.yaml", "operon build", "operon generate")
			r.released(team, operator, create.platforms)
			r.paste("test \"$(stat -c %a .docker/config.json)\" = 600\n")
		})
	}
}

// released checks what a release of version 1.2.3 has published.
func (r *reader) released(team, operator string, platforms int) {
	r.t.Helper()
	if got := r.platforms(team + "/" + operator + ":v1.2.3"); got != platforms {
		r.t.Errorf("the image is for %d platforms, want %d", got, platforms)
	}
	install := testaid.Read(r.t, filepath.Join(r.dir, "dist", "install.yaml"))
	for _, want := range []string{"kind: CustomResourceDefinition", "kind: ServiceAccount", "kind: ClusterRoleBinding", "kind: Deployment", "image: " + team + "/" + operator + ":v1.2.3"} {
		if !strings.Contains(install, want) {
			r.t.Errorf("dist/install.yaml lacks %q", want)
		}
	}
	if got := r.platforms(team + "/charts/" + operator + ":1.2.3"); got != 1 {
		r.t.Errorf("the chart in the registry is for %d platforms", got)
	}
	if got := r.platforms(team + "/" + operator + "-bundle:v1.2.3"); got != 1 {
		r.t.Errorf("the bundle in the registry is for %d platforms", got)
	}
	r.paste("tar -tzf dist/" + operator + "-1.2.3.tgz | grep -qx " + operator + "/Chart.yaml\n")
}

// platforms returns the number of images that an image or artifact in a registry consists of.
func (r *reader) platforms(of string) int {
	r.t.Helper()
	tag, err := name.NewTag(of)
	if err != nil {
		r.t.Fatal(err)
	}
	found, err := remote.Get(tag)
	if err != nil {
		r.t.Fatal(err)
	}
	if !found.MediaType.IsIndex() {
		return 1
	}
	index, err := found.ImageIndex()
	if err != nil {
		r.t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		r.t.Fatal(err)
	}
	named := map[string]bool{}
	for _, one := range manifest.Manifests {
		if one.Platform != nil && one.Platform.OS == "linux" {
			named[one.Platform.Architecture] = true
		}
	}
	return len(named)
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

// notHere matches the steps of workflows that do not run in a test.
var notHere = regexp.MustCompile(`^(install operon|publish)\n|^[^\n]*\n(sudo|operon prove) `)

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
			if step.Run == "" || notHere.MatchString(step.Name+"\n"+step.Run) {
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
