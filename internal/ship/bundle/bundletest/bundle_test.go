package bundletest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// gadgetCRD and gadgetCSV are a bundle. $GROUP is its API group, and $VERSION its version.
const gadgetCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.$GROUP}
spec:
  group: $GROUP
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const gadgetCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: gadgets.v$VERSION
  annotations:
    capabilities: Basic Install
    alm-examples: |
      [{"apiVersion": "$GROUP/v1", "kind": "Gadget", "metadata": {"name": "first", "namespace": "elsewhere"}, "spec": {"size": 1}}]
spec:
  displayName: Gadgets
  description: Builds gadgets.
  version: $VERSION
  replaces: gadgets.v1.0.0
  minKubeVersion: 1.28.0
  provider: {name: Example}
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: false}
  customresourcedefinitions:
    owned:
    - {name: gadgets.$GROUP, version: v1, kind: Gadget, displayName: Gadget, description: A gadget.}
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: builder
        rules:
        - {apiGroups: [$GROUP], resources: [gadgets, gadgets/status], verbs: [get, list, update]}
        - {apiGroups: [apps], resources: [deployments], verbs: [create]}
        - {apiGroups: [""], resources: [configmaps], verbs: [create]}
        - {apiGroups: [""], resources: [pods], verbs: [deletecollection]}
      deployments:
      - name: gadgets
        spec:
          selector: {matchLabels: {app: gadgets-operator}}
          template:
            metadata: {labels: {app: gadgets-operator}}
            spec:
              serviceAccountName: builder
              containers:
              - name: manager
                image: registry.example.com/gadgets:$VERSION
                args: ["--group=$GROUP"]
                resources: {requests: {cpu: 10m, memory: 64Mi}}
                env:
                - {name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['olm.targetNamespaces']"}}}
                - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
                - {name: GREETING, value: hello $(POD_NAMESPACE)}
                - {name: GADGET_VERSION, value: v1}
                - {name: PATH, value: /nowhere}
`

// edit is a change of a file of the bundle: old text, and new text.
type edit struct{ old, new string }

// write writes a bundle of Gadgets and returns its directory.
func write(t *testing.T, group, version string, edits ...edit) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "gadgets")
	words := strings.NewReplacer("$GROUP", group, "$VERSION", version)
	for file, text := range map[string]string{
		"manifests/gadgets.clusterserviceversion.yaml": gadgetCSV,
		"manifests/gadgets.crd.yaml":                   gadgetCRD,
		"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: gadgets
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`,
	} {
		for _, one := range edits {
			text = strings.ReplaceAll(text, one.old, one.new)
		}
		testaid.Write(t, filepath.Join(dir, file), words.Replace(text))
	}
	if version == "1.0.0" {
		testaid.Edit(t, filepath.Join(dir, "manifests/gadgets.clusterserviceversion.yaml"), "  replaces: gadgets.v1.0.0\n", "")
	}
	return dir
}
