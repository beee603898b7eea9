package bundles

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files of the sound bundle that all others are made from. NAME stands for the name of the entry.
const (
	CSVFile          = "manifests/csv.yaml"
	CRDFile          = "manifests/crd.yaml"
	AnnotationsFile  = "metadata/annotations.yaml"
	DependenciesFile = "metadata/dependencies.yaml"
)

var sound = map[string]string{
	CSVFile: `apiVersion: operators.coreos.com/v1alpha1
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
	CRDFile: `apiVersion: apiextensions.k8s.io/v1
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
	AnnotationsFile: `annotations:
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

// Change changes the files of a bundle.
type Change func(files map[string]string)

// Edit replaces a text that a file contains.
func Edit(file, before, after string) Change {
	return func(files map[string]string) {
		if !strings.Contains(files[file], before) {
			panic(fmt.Sprintf("%s does not contain %q", file, before))
		}
		files[file] = strings.ReplaceAll(files[file], before, after)
	}
}

// With adds or replaces a file.
func With(file, content string) Change {
	return func(files map[string]string) { files[file] = content }
}

// Without removes a file.
func Without(file string) Change { return func(files map[string]string) { delete(files, file) } }

// Schema makes the definition one in v1beta1 with a schema of the whole object.
func Schema(text string) Change { return With(CRDFile, strings.Replace(old, "SCHEMA", text, 1)) }

// Field sets a field of spec of the CSV.
func Field(text string) Change {
	return Edit(CSVFile, "  displayName: NAME\n", "  displayName: NAME\n"+text+"\n")
}

// ModesOnly leaves only some install modes supported.
func ModesOnly(supported ...string) Change {
	return func(files map[string]string) {
		for _, mode := range []string{"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"} {
			if !slices.Contains(supported, mode) {
				Edit(CSVFile, mode+", supported: true", mode+", supported: false")(files)
			}
		}
	}
}

// everywhere changes the content of all files.
func everywhere(do func(content string) string) Change {
	return func(files map[string]string) {
		for file := range files {
			files[file] = do(files[file])
		}
	}
}

// Bundle is an entry of the corpus.
type Bundle struct {
	// Name is the name of the package and of the operator.
	Name string
	// Errors are the rules that find errors, in order of their names, separated by spaces, or nothing.
	Errors string

	changes []Change
}

// New returns a bundle that differs from the sound one by some changes.
func New(name, errors string, changes ...Change) Bundle { return Bundle{name, errors, changes} }

// Files returns the content of a bundle, by the names of its files.
func (b Bundle) Files() map[string]string {
	files := maps.Clone(sound)
	for _, change := range b.changes {
		change(files)
	}
	for file := range files {
		files[file] = strings.ReplaceAll(files[file], "NAME", b.Name)
	}
	return files
}

// Write writes a bundle to a directory.
func (b Bundle) Write(t testing.TB, dir string) {
	t.Helper()
	Write(t, dir, b.Files())
}

// Write writes files to a directory.
func Write(t testing.TB, dir string, files map[string]string) {
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
func deployments(n int) Change {
	return func(files map[string]string) {
		csv := files[CSVFile]
		begin, end := strings.Index(csv, "      - name: NAME\n"), strings.Index(csv, "      permissions:")
		one, all := csv[begin:end], ""
		for i := range n {
			all += strings.Replace(one, "- name: NAME\n", fmt.Sprintf("- name: NAME-%d\n", i), 1)
		}
		files[CSVFile] = csv[:begin] + all + csv[end:]
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

// WritePackage writes a package in the older layout to a directory, with a bundle as its only version.
func (b Bundle) WritePackage(t testing.TB, dir string) {
	t.Helper()
	files := map[string]string{
		b.Name + ".package.yaml": fmt.Sprintf("packageName: %s\ndefaultChannel: stable\nchannels:\n- {name: stable, currentCSV: %s.v1.0.0}\n", b.Name, b.Name),
	}
	for file, content := range b.Files() {
		if strings.HasPrefix(file, "manifests/") {
			files["1.0.0/"+strings.TrimPrefix(file, "manifests/")] = content
		}
	}
	Write(t, dir, files)
}
