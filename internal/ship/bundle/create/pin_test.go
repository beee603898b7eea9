package create_test

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// With digests, all images of the bundle have those of their tags. An image that no registry has is an error, and nothing is written.
func TestUseImageDigests(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	pinned := map[string]string{}
	for _, image := range []string{"operator", "web", "db"} {
		content, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		tag, err := name.NewTag(host + "/" + image + ":1")
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(tag, content); err != nil {
			t.Fatal(err)
		}
		digest, err := content.Digest()
		if err != nil {
			t.Fatal(err)
		}
		pinned[image] = host + "/" + image + "@" + digest.String()
	}
	dir := kubebuilders(t)
	testaid.Write(t, filepath.Join(dir, "config/manager/manager.yaml"), `
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: system}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: manager, image: controller, env: [{name: RELATED_IMAGE_WEB, value: "`+host+`/web:1"}, {name: ZONE, value: "web:1"}]}]}
`)
	base := filepath.Join(dir, "config/manifests/bases/a.yaml")
	testaid.Write(t, base, `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v0.0.0}
spec: {relatedImages: [{name: db, image: "`+host+`/db:1"}]}
`)
	o := create.Options{Dir: dir, Version: "1.2.0", Image: host + "/operator:1", UseImageDigests: true, Out: filepath.Join(t.TempDir(), "out")}
	result, err := create.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(result.Dir)
	if err != nil || len(b.Problems) > 0 {
		t.Fatal(err, b.Problems)
	}
	container := b.CSV.Spec.Install.Spec.Deployments[0].Spec.Template.Spec.Containers[0]
	got := []string{container.Image, b.Object.GetAnnotations()["containerImage"]}
	for _, one := range b.CSV.Spec.RelatedImages {
		got = append(got, one.Image)
	}
	for _, one := range container.Env {
		if one.Name == "RELATED_IMAGE_WEB" || one.Name == "ZONE" {
			got = append(got, one.Value)
		}
	}
	want := []string{pinned["operator"], pinned["operator"], pinned["db"], pinned["operator"], pinned["web"], pinned["web"], "web:1"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the images are %q, want %q", got, want)
	}

	testaid.Write(t, base, strings.Replace(testaid.Read(t, base), "/db:1", "/db:2", 1))
	o.Out = filepath.Join(t.TempDir(), "other")
	if _, err := create.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "spec.relatedImages: read "+host+"/db:2: "+host+" has no such image") {
		t.Errorf("the error is %v", err)
	}
	if first := names(t, filepath.Dir(o.Out)); len(first) > 0 {
		t.Errorf("%v was written", first)
	}
}
