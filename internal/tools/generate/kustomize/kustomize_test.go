package kustomize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
)

func asYAML(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Kustomize builds the same objects from a base as the manifests contain.
func TestABaseIsTheManifests(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memcached", "site"} {
		p, err := project.Read("../../../../examples/"+name, project.Options{})
		if err != nil {
			t.Fatal(err)
		}
		operator, err := manifests.Of(p, "registry.example.com/web:1.0")
		if err != nil {
			t.Fatal(err)
		}
		base := kustomize.Base{Folder: "deploy/base"}
		all := map[string][]byte{}
		for _, definition := range p.CRDs {
			content, err := os.ReadFile(filepath.Join(p.Dir, definition.File))
			if err != nil {
				t.Fatal(err)
			}
			all[definition.File] = content
			base.Definitions = append(base.Definitions, definition.File)
		}
		made, err := base.Files(operator)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range made {
			all[file] = content
		}
		got, err := kustomize.Build(all, "deploy/base")
		if err != nil {
			t.Fatal(err)
		}
		want, err := operator.Objects()
		if err != nil {
			t.Fatal(err)
		}
		built := map[string]string{}
		for _, object := range got {
			built[object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName()] = asYAML(t, object)
		}
		for _, object := range want {
			if got := built[object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName()]; got != asYAML(t, object) {
				t.Errorf("%s: %s %s is\n%s\nin the base, and in the manifests\n%s", name, object.GetKind(), object.GetName(), got, asYAML(t, object))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: the base has %d objects, want %d", name, len(got), len(want))
		}
	}
}

// kubebuilders is a minimal config directory of a project with kubebuilder's layout.
var kubebuilders = map[string]string{
	"config/default/kustomization.yaml": "namespace: web-system\nnamePrefix: web-\nresources: [../crd, ../manager]\n",
	"config/crd/kustomization.yaml":     "resources: [bases/pages.yaml]\n",
	"config/crd/bases/pages.yaml":       "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: pages.web.example.com\n",
	"config/manager/kustomization.yaml": "resources: [manager.yaml]\nimages:\n- name: controller\n  newName: registry.example.com/web\n  newTag: '1'\n",
	"config/manager/manager.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: controller-manager\n  namespace: system\nspec:\n  template:\n    spec:\n      containers:\n" +
		"      - name: proxy\n        image: proxy\n      - name: manager\n        image: controller:latest\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n",
}

func TestKubebuildersBase(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	for name, content := range kubebuilders {
		files[name] = []byte(content)
	}
	objects, err := kustomize.Build(files, kustomize.Default)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, object := range objects {
		order = append(order, object.GetKind()+" "+object.GetName())
	}
	want := "Namespace web-system, CustomResourceDefinition pages.web.example.com, Deployment web-controller-manager"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("built are %s, want %s", got, want)
	}
	deployment := objects[2]
	if text := asYAML(t, deployment); !strings.Contains(text, "image: registry.example.com/web:1") {
		t.Errorf("the Deployment is %s", text)
	}
	if err := kustomize.Image(objects, "registry.example.com/web:2"); err != nil {
		t.Fatal(err)
	}
	if text := asYAML(t, deployment); !strings.Contains(text, "image: registry.example.com/web:2") || !strings.Contains(text, "image: proxy") {
		t.Errorf("the Deployment is %s", text)
	}
	if err := kustomize.Image(objects[:2], "other"); err == nil || !strings.Contains(err.Error(), "no Deployment has a container") {
		t.Errorf("%v", err)
	}
	delete(files, "config/manager/manager.yaml")
	if _, err := kustomize.Build(files, kustomize.Default); err == nil || !strings.Contains(err.Error(), "kustomize build config/default: ") {
		t.Errorf("%v", err)
	}
}
