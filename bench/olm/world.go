package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/fbc"
	"github.com/operon-framework/operon/internal/tools/kube"
)

// managerName is the name of the manager's program, by which the audit log names its requests.
const managerName = "olm"

// Namespaces: of catalogs that all namespaces can use, of the operators, and of a group that selects namespaces by a label.
const (
	catalogs  = "olm"
	operators = "operators"
	selecting = "selecting"
)

// world is a cluster with a registry.
type world struct {
	*cluster.Cluster
	settings

	registry *httptest.Server
}

// prepare creates the namespaces, the CRDs of the manager, and the images of the operators and of the catalog.
func (w *world) prepare(ctx context.Context, crds string) error {
	files, err := os.ReadDir(crds)
	if err != nil {
		return err
	}
	var definitions []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(crds, file.Name()))
		if err != nil {
			return err
		}
		one := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &one.Object); err != nil {
			return err
		}
		definitions = append(definitions, one)
	}
	if err := kube.InstallCRDs(ctx, w.Config, "bench", definitions...); err != nil {
		return err
	}
	names := []string{catalogs, operators, selecting}
	for i := range w.namespaces {
		names = append(names, fmt.Sprintf("tenant-%05d", i))
	}
	fmt.Fprintf(os.Stderr, "%d namespaces\n", len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, name := range names {
		group.Go(func() error {
			return w.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		})
	}
	return group.Wait()
}

// publish pushes the images, and returns the reference of the catalog.
func (w *world) publish() (string, error) {
	w.registry = httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	host := strings.TrimPrefix(w.registry.URL, "http://")
	dir, err := os.MkdirTemp("", "bench-olm-catalog-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if _, err := fbc.Write(filepath.Join(dir, "configs"), w.bundles/fbc.PerPackage); err != nil {
		return "", err
	}
	var own strings.Builder
	for i := range w.operators {
		name := operatorName(i)
		image, err := push(host+"/"+name+":1", map[string]string{"manifests/csv.yaml": csvOf(name), "manifests/crd.yaml": crdOf(name)})
		if err != nil {
			return "", err
		}
		own.WriteString(packageOf(name, image))
	}
	if err := os.WriteFile(filepath.Join(dir, "configs", "own.yaml"), []byte(own.String()), 0o600); err != nil {
		return "", err
	}
	files, err := read(dir)
	if err != nil {
		return "", err
	}
	return push(host+"/catalog:1", files)
}

func operatorName(i int) string { return fmt.Sprintf("bench%d", i) }

func packageOf(name, image string) string {
	return fmt.Sprintf(`
schema: olm.package
name: %[1]s
defaultChannel: stable
---
schema: olm.channel
package: %[1]s
name: stable
entries: [{name: %[1]s.v1.0.0}]
---
schema: olm.bundle
package: %[1]s
name: %[1]s.v1.0.0
image: %[2]s
properties:
- {type: olm.package, value: {packageName: %[1]s, version: 1.0.0}}
- {type: olm.gvk, value: {group: %[1]s.example.com, version: v1, kind: Thing}}
---
`, name, image)
}

func csvOf(name string) string {
	return fmt.Sprintf(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: %[1]s.v1.0.0}
spec:
  displayName: %[1]s
  description: %[2]q
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: things.%[1]s.example.com, version: v1, kind: Thing}]
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: %[1]s
        rules: [{apiGroups: [""], resources: [configmaps, pods], verbs: ["*"]}]
      clusterPermissions:
      - serviceAccountName: %[1]s
        rules: [{apiGroups: [%[1]s.example.com], resources: [things, things/status], verbs: ["*"]}]
      deployments:
      - name: %[1]s
        spec:
          selector: {matchLabels: {name: %[1]s}}
          template:
            metadata: {labels: {name: %[1]s}}
            spec: {serviceAccountName: %[1]s, containers: [{name: manager, image: "%[1]s:1.0.0"}]}
`, name, strings.Repeat("An operator that is only here to be installed. ", 400))
}

func crdOf(name string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s.example.com}
spec:
  group: %[1]s.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, name)
}
