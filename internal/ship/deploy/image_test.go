package deploy_test

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// repository returns a repository in the test's own registry, which ends with the test.
func repository(t *testing.T) name.Repository {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	made, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/team/gadget")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// An image is pushed after everything else was tried, and pods run exactly this image.
func TestDeployPushes(t *testing.T) {
	t.Parallel()
	f, to := newFixture(t), repository(t)
	pushing := func(o *deploy.Options) { o.Image, o.Push = "", to.Tag("1.0").Name() }
	dry := f.mustDeploy(t, func(o *deploy.Options) { pushing(o); o.DryRun = true })
	if !strings.HasPrefix(dry.Image, to.Name()+"@sha256:") {
		t.Errorf("the image is %s", dry.Image)
	}
	f.edit(t, "config/crd/gadgets.yaml", "type: object", "type: objekt")
	if _, _, err := f.deploy(t, pushing); refuses(err, "nothing was deployed") != nil {
		t.Errorf("what is refused: %v", err)
	}
	f.edit(t, "config/crd/gadgets.yaml", "type: objekt", "type: object")
	if tags, err := remote.List(to); err == nil {
		t.Fatalf("something was pushed: %q", tags)
	}
	made := f.mustDeploy(t, pushing)
	if made.Image != dry.Image {
		t.Errorf("the image is %s, a dry run said %s", made.Image, dry.Image)
	}
	tagged, err := remote.Head(to.Tag("1.0"))
	if err != nil || made.Image != to.Digest(tagged.Digest.String()).Name() {
		t.Errorf("the registry has %v, %v; pods run %s", tagged, err, made.Image)
	}
	f.runs(t, made.Image)
}

// runs checks the image of the Deployment's pods.
func (f *fixture) runs(t *testing.T, image string) {
	t.Helper()
	deployment, err := f.client.AppsV1().Deployments(f.namespace()).Get(t.Context(), f.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if run := deployment.Spec.Template.Spec.Containers[0]; run.Image != image || run.ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("pods run %s, pulled %s, want %s", run.Image, run.ImagePullPolicy, image)
	}
}

// If no node can run an image, no image is built.
func TestDeployWithoutContainers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, said, err := f.deploy(t, func(o *deploy.Options) { o.Image, o.Where = "", up.Where{Name: localtest.SharedName} })
	if missing := refuses(err, `cluster "test" has simulated nodes only`, "--image NAME", "--node container"); missing != nil || said != "" {
		t.Errorf("%v\n%s", missing, said)
	}
	f.noNamespace(t)
}

func TestDeployImageOptions(t *testing.T) {
	t.Parallel()
	elsewhere := deploy.Target{Where: up.Where{Context: "a"}}
	for want, options := range map[string]deploy.Options{
		"want --image NAME, or --push NAME":          {Target: elsewhere},
		"use one or the other":                       {Image: "a", Push: "b"},
		"--push and --platform are":                  {Image: "a", Build: build.Options{Platforms: []string{"linux/arm64"}}},
		`the image name "A"`:                         {Target: elsewhere, Push: "A"},
		`the platform "linux/x": want linux/ARCH`:    {Build: build.Options{Platforms: []string{"linux/x"}}},
		"has a digest, which results from the build": {Push: "a@sha256:" + strings.Repeat("0", 64)},
	} {
		if missing := refuses(options.Check(), want); missing != nil {
			t.Error(missing)
		}
		if _, err := deploy.Run(t.Context(), options); refuses(err, want) != nil {
			t.Errorf("Run: %v", err)
		}
	}
}
