package check_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files of the sound bundle that all entries are made from. NAME stands for the name of the entry.
const (
	csvFile  = "manifests/csv.yaml"
	crdFile  = "manifests/crd.yaml"
	noteFile = "metadata/annotations.yaml"
	needFile = "metadata/dependencies.yaml"
)

var sound = map[string]string{
	csvFile: `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: NAME.v1.0.0
  annotations:
    capabilities: Basic Install
    alm-examples: '[{"apiVersion":"NAME.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1}}]'
spec:
  displayName: NAME
  description: Manages things.
  version: 1.0.0
  minKubeVersion: 1.20.0
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: true}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: things.NAME.example.com, version: v1, kind: Thing, description: A thing.}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: NAME
        spec:
          replicas: 1
          selector: {matchLabels: {app: NAME}}
          template:
            metadata: {labels: {app: NAME}}
            spec:
              serviceAccountName: NAME
              containers:
              - name: manager
                image: registry.example.com/NAME:1.0.0
                env:
                - name: WATCH_NAMESPACE
                  valueFrom: {fieldRef: {fieldPath: "metadata.annotations['olm.targetNamespaces']"}}
      permissions:
      - serviceAccountName: NAME
        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]
      clusterPermissions:
      - serviceAccountName: NAME
        rules: [{apiGroups: [NAME.example.com], resources: [things], verbs: [get, list, watch, update]}]
`,
	crdFile: `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
`,
	noteFile: `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: NAME
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`,
}

// old is the definition in v1beta1, with a schema in the place of SCHEMA.
const old = `apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: things.NAME.example.com}
spec:
  group: NAME.example.com
  version: v1
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  validation: {openAPIV3Schema: SCHEMA}
`

// change changes the files of a bundle.
type change func(files map[string]string)

// edit replaces a text that a file contains.
func edit(file, before, after string) change {
	return func(files map[string]string) {
		if !strings.Contains(files[file], before) {
			panic(fmt.Sprintf("%s does not contain %q", file, before))
		}
		files[file] = strings.ReplaceAll(files[file], before, after)
	}
}

// with adds or replaces a file.
func with(file, content string) change {
	return func(files map[string]string) { files[file] = content }
}

func without(file string) change { return func(files map[string]string) { delete(files, file) } }

// schema makes the definition one in v1beta1 with a schema of the whole object.
func schema(text string) change { return with(crdFile, strings.Replace(old, "SCHEMA", text, 1)) }

// field sets a field of spec of the CSV.
func field(text string) change {
	return edit(csvFile, "  displayName: NAME\n", "  displayName: NAME\n"+text+"\n")
}

// modesOnly leaves only some install modes supported.
func modesOnly(supported ...string) change {
	return func(files map[string]string) {
		for _, mode := range []string{"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"} {
			if !slices.Contains(supported, mode) {
				edit(csvFile, mode+", supported: true", mode+", supported: false")(files)
			}
		}
	}
}

// everywhere changes the content of all files.
func everywhere(do func(content string) string) change {
	return func(files map[string]string) {
		for file := range files {
			files[file] = do(files[file])
		}
	}
}

// item is an entry of the corpus: changes of the sound bundle, and the rules with errors, in order of their names, or nothing.
type item struct {
	name    string
	errors  string
	changes []change
}

func entryOf(name, errors string, changes ...change) item { return item{name, errors, changes} }

// files returns the content of an entry.
func (i item) files() map[string]string {
	files := maps.Clone(sound)
	for _, change := range i.changes {
		change(files)
	}
	for file := range files {
		files[file] = strings.ReplaceAll(files[file], "NAME", i.name)
	}
	return files
}

// write writes an entry to a directory.
func (i item) write(t testing.TB, dir string) {
	t.Helper()
	writeFiles(t, dir, i.files())
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for file, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// deployments has n Deployments instead of one.
func deployments(n int) change {
	return func(files map[string]string) {
		csv := files[csvFile]
		begin, end := strings.Index(csv, "      - name: NAME\n"), strings.Index(csv, "      permissions:")
		one, all := csv[begin:end], ""
		for i := range n {
			all += strings.Replace(one, "- name: NAME\n", fmt.Sprintf("- name: NAME-%d\n", i), 1)
		}
		files[csvFile] = csv[:begin] + all + csv[end:]
	}
}

const (
	validating = `  webhookdefinitions:
  - {type: ValidatingAdmissionWebhook, generateName: vthing.example.com, deploymentName: NAME, containerPort: 443, targetPort: 9443, sideEffects: None,
     admissionReviewVersions: [v1], failurePolicy: Fail, webhookPath: /validate, rules: [{apiGroups: [NAME.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [things]}]}`
	mutating = `  webhookdefinitions:
  - {type: MutatingAdmissionWebhook, generateName: mthing.example.com, deploymentName: NAME, targetPort: https, sideEffects: NoneOnDryRun, reinvocationPolicy: IfNeeded,
     admissionReviewVersions: [v1beta1, v1], matchPolicy: Equivalent, timeoutSeconds: 5, rules: [{apiGroups: [NAME.example.com], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]}`
	converting = `  webhookdefinitions:
  - {type: ConversionWebhook, generateName: cthing.example.com, deploymentName: NAME, sideEffects: None, admissionReviewVersions: [v1], conversionCRDs: [things.NAME.example.com]}`
	apiService = `  apiservicedefinitions:
    owned: [{name: things, group: served.example.com, version: v1, kind: Served, deploymentName: NAME, containerPort: 5443, description: Served.}]`
)
