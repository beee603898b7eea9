package bundles

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// All returns the corpus of bundles in the layout registry+v1, each with its verdict.
func All() []Bundle {
	return slices.Concat(supportedItems(), documentItems(), Definitions(), dependencyItems(), mistakeItems(), hostileItems(), ServedItems(), WrittenItems())
}

// supportedItems are what bundles may ask for.
func supportedItems() []Bundle {
	deployment := "      permissions:\n      - serviceAccountName: NAME\n        rules: [{apiGroups: [\"\"], resources: [configmaps], verbs: [get, list]}]\n"
	return []Bundle{
		New("sound", ""),
		New("mode-own", "", ModesOnly("OwnNamespace")),
		New("mode-own-single", "", ModesOnly("OwnNamespace", "SingleNamespace")),
		New("mode-own-single-all", "", ModesOnly("OwnNamespace", "SingleNamespace", "AllNamespaces")),
		New("mode-multi", "", ModesOnly("MultiNamespace")),
		New("mode-all", "", ModesOnly("AllNamespaces")),
		New("mode-missing-types", "", Edit(CSVFile, "  - {type: MultiNamespace, supported: true}\n", "")),
		New("webhook-validating", "", Field(validating)),
		New("webhook-mutating", "", Field(mutating)),
		New("webhook-conversion", "", Field(converting), ModesOnly("AllNamespaces")),
		New("api-service", "", Field(apiService)),
		New("deployments-9", "", deployments(9)),
		New("deployments-0", "", deployments(0), Edit(CSVFile, "      deployments:\n", "      deployments: []\n"), Edit(CSVFile, deployment, ""),
			Edit(CSVFile, "serviceAccountName: NAME", "serviceAccountName: default")),
		New("account-default", "", Edit(CSVFile, "serviceAccountName: NAME", "serviceAccountName: default")),
		New("account-shared", "", Edit(CSVFile, deployment, deployment+strings.TrimPrefix(deployment, "      permissions:\n"))),
		New("permissions-none", "", Edit(CSVFile, deployment, "")),
		New("permissions-empty-rules", "", Edit(CSVFile, `rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]`, "rules: []")),
		New("permissions-urls", "", Edit(CSVFile, "resources: [things], verbs: [get, list, watch, update]}]", "resources: [things], resourceNames: [a], verbs: [get]}, {nonResourceURLs: [/metrics], verbs: [get]}]")),
		New("label-and-init-containers", "", Edit(CSVFile, "      - name: NAME\n        spec:\n", "      - name: NAME\n        label: {tier: back}\n        spec:\n"),
			Edit(CSVFile, "              containers:\n", "              initContainers: [{name: first, image: 'registry.example.com/first:1'}]\n              containers:\n")),
		New("condition-variable-of-its-own", "", Edit(CSVFile, "                - name: WATCH_NAMESPACE\n", "                - {name: OPERATOR_CONDITION_NAME, value: other}\n                - name: WATCH_NAMESPACE\n")),
		New("long-name-"+strings.Repeat("x", 40), ""),
		New("other-objects", "", With("manifests/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: NAME}\nrules: []\n")),
		New("native-apis", "", Field("  nativeAPIs: [{group: apps, version: v1, kind: Deployment}]")),
	}
}

// documentItems are forms of files from several years.
func documentItems() []Bundle {
	return []Bundle{
		New("unknown-fields", "", Field("  maturity: alpha\n  cleanup: {enabled: true}\n  futureField: {deep: [1, 2.5, null, 'x']}\n  specialNumbers: [9007199254740993, 1e3, 0x10, 0o17, 017, -0.0]")),
		New("unknown-annotations", "", Edit(AnnotationsFile, "annotations:\n", "annotations:\n  com.example.yes: yes\n  com.example.number: 1.10\n  com.example.null: ~\n  com.example.long: |\n    two\n    lines\n  com.example.date: 2020-01-01\n")),
		New("multi-document", "", func(files map[string]string) {
			files["manifests/all.yaml"] = "# all\n---\n" + files[CSVFile] + "...\n---\n" + files[CRDFile] + "---\n---\n"
			delete(files, CSVFile)
			delete(files, CRDFile)
		}),
		New("json-files", "", func(files map[string]string) {
			for _, file := range []string{CSVFile, CRDFile} {
				content, err := yaml.YAMLToJSON([]byte(files[file]))
				if err != nil {
					panic(err)
				}
				files[strings.TrimSuffix(file, "yaml")+"json"] = string(content)
				delete(files, file)
			}
		}),
		New("yml-files", "", func(files map[string]string) {
			files["manifests/csv.yml"], files["manifests/notes.txt"] = files[CSVFile], "{{ not: yaml"
			delete(files, CSVFile)
		}),
		New("crlf", "", everywhere(func(content string) string { return strings.ReplaceAll(content, "\n", "\r\n") })),
		New("byte-order-mark", "", everywhere(func(content string) string { return "\ufeff" + content })),
		New("tabs-in-strings", "", Field("  provider: {name: \"a\\tb\"}\n  notes: |\n    a\tb\n      \tindented\n    trailing \t\n")),
		New("odd-strings", "", Field("  odd: [\"yes\", 'null', \"1e3\", \"0x1\", \"12:30\", \" lead\", \"trail \", \"#\", \"a: b\", \"\\u0085x\", \"\\u2028\", \"\\ufeff\", \"\\x7f\", '', \"\\n\", \"\\n a\\nb\", \"- a\", '=', '<<', '~']")),
		New("yes-and-no", "", Edit(CSVFile, "supported: true", "supported: yes"), Edit(CSVFile, "replicas: 1", "replicas: 1\n          paused: no")),
		New("old-quoting", "", Edit(CSVFile, "version: 1.0.0\n", "version: '1.0.0'\n"), Edit(CSVFile, "kind: ClusterServiceVersion", `"kind": "ClusterServiceVersion"`)),
		New("anchors", "", Edit(CSVFile, "selector: {matchLabels: {app: NAME}}", "selector: {matchLabels: &labels {app: NAME}}"), Edit(CSVFile, "metadata: {labels: {app: NAME}}", "metadata: {labels: *labels}")),
		New("a-list", "", func(files map[string]string) {
			var objects []any
			for _, file := range []string{CSVFile, CRDFile} {
				var object any
				if err := yaml.Unmarshal([]byte(files[file]), &object); err != nil {
					panic(err)
				}
				objects = append(objects, object)
				delete(files, file)
			}
			content, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
			if err != nil {
				panic(err)
			}
			files["manifests/list.json"] = string(content)
		}),
		New("status-and-times", "", Edit(CSVFile, "metadata:\n  name: NAME.v1.0.0\n", "metadata:\n  name: NAME.v1.0.0\n  creationTimestamp: null\n  namespace: placeholder\n"), Edit(CSVFile, "metadata: {labels: {app: NAME}}", "metadata: {creationTimestamp: null, labels: {app: NAME}}\n"),
			func(files map[string]string) {
				files[CSVFile] += "status: {phase: Succeeded, conditions: []}\n"
				files[CRDFile] += "status: {acceptedNames: {kind: '', plural: ''}, conditions: [], storedVersions: []}\n"
			}),
		New("target-ports", "", Field(strings.Replace(validating, "targetPort: 9443", "targetPort: \"9443\"", 1))),
		New("port-is-text", "bundle-format", Edit(CSVFile, "                env:\n", "                ports: [{containerPort: \"8080\"}]\n                env:\n")),
		New("variable-is-number", "bundle-format", Edit(CSVFile, "                - name: WATCH_NAMESPACE\n", "                - {name: A, value: 1}\n                - name: WATCH_NAMESPACE\n")),
		New("version-is-number", "bundle-format csv-version package-graph", Edit(CSVFile, "  version: 1.0.0\n", "  version: 1.0\n")),
		New("annotation-is-bool", "bundle-format", Edit(CSVFile, "    capabilities: Basic Install\n", "    certified: false\n")),
		New("release-is-number", "csv-fields", Field("  release: 3")),
	}
}

// Definitions returns bundles with CRDs in v1beta1. Those without an error become CRDs that API servers accept.
func Definitions() []Bundle {
	spec := func(text string) Change { return Schema("{properties: {spec: {properties: {size: " + text + "}}}}") }
	return []Bundle{
		New("old-typed", "", Schema("{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}")),
		New("old-without-types", "", Schema("{properties: {spec: {properties: {size: {minimum: 1, type: integer}}, required: [size]}}}")),
		New("old-without-schema", "", Schema("{}"), Edit(CRDFile, "  validation: {openAPIV3Schema: {}}\n", "")),
		New("old-empty-schema", "", Schema("{}")),
		New("old-description-only", "", Schema("{description: A thing.}")),
		New("old-versions", "", Schema("{}"), Edit(CRDFile, "  version: v1\n", "  version: v1\n  versions: [{name: v1, served: true, storage: true}, {name: v1alpha1, served: true, storage: false}]\n"),
			Edit(CSVFile, "    - {name: things", "    - {name: things.NAME.example.com, version: v1alpha1, kind: Thing, description: Older.}\n    - {name: things")),
		New("old-columns", "", Schema("{}"), Edit(CRDFile, "  version: v1\n", "  version: v1\n  additionalPrinterColumns: [{name: Size, type: integer, JSONPath: .spec.size}]\n  subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}\n")),
		New("old-pruning", "", Schema("{type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 1}}}}}"), Edit(CRDFile, "  version: v1\n", "  version: v1\n  preserveUnknownFields: false\n")),
		New("old-metadata", "", Schema("{properties: {apiVersion: {description: x, type: string}, kind: {}, metadata: {type: object, properties: {name: {type: string}, labels: {type: object}}, required: [name]}, spec: {}}}")),
		New("old-int-or-string", "", spec("{anyOf: [{type: string}, {type: integer}]}")),
		New("old-one-of-types", "", spec("{oneOf: [{type: string}, {type: integer}, {type: boolean}]}")),
		New("old-all-of", "", spec("{type: integer, allOf: [{type: integer, minimum: 0}, {properties: {other: {type: string}}}]}")),
		New("old-not", "", spec("{type: integer, not: {type: string}}")),
		New("old-conditions", "", spec("{type: integer, anyOf: [{minimum: 1}, {maximum: -1}], not: {enum: [7]}}")),
		New("old-required-one-of", "", Schema("{properties: {spec: {type: object, oneOf: [{required: [size]}, {required: [length]}], properties: {size: {type: integer}, length: {type: integer}}}}}")),
		New("old-unique-items", "", Schema("{properties: {spec: {type: object, properties: {list: {type: array, uniqueItems: true, items: {type: string}}}}}}")),
		New("old-tuple", "", Schema("{properties: {spec: {type: object, properties: {list: {type: array, items: [{type: string}, {type: integer}]}}}}}")),
		New("old-array-of-anything", "", Schema("{properties: {spec: {type: object, properties: {list: {type: array}}}}}")),
		New("old-closed", "", Schema("{properties: {spec: {type: object, additionalProperties: false, properties: {size: {type: integer}}}}}")),
		New("old-more-properties", "", Schema("{properties: {spec: {type: object, additionalProperties: {type: integer}, properties: {size: {type: integer}}}}}")),
		New("old-map", "", Schema("{properties: {spec: {type: object, additionalProperties: {type: integer}}}}")),
		New("old-pattern", "", spec("{type: integer, pattern: '^(?!a)'}")),
		New("old-wrong-type", "", Schema("{properties: {spec: {type: object, properties: {text: {type: any}}}}}")),
		New("old-root-list", "", Schema("{type: array}")),
		New("old-conversion", "", Schema("{}"), Edit(CRDFile, "  version: v1\n", "  version: v1\n  preserveUnknownFields: false\n  conversion: {strategy: None}\n")),
		New("old-sample-refused", "csv-samples", spec("{type: string}")),
		New("old-sample-pruned", "", Schema("{type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}"), Edit(CRDFile, "  version: v1\n", "  version: v1\n  preserveUnknownFields: false\n")),
		New("old-scope-unknown", "bundle-format", Schema("{}"), Edit(CRDFile, "scope: Namespaced", "scope: Galaxy")),
	}
}

// dependencyItems need something.
func dependencyItems() []Bundle {
	need := func(text string) Change { return With(DependenciesFile, "dependencies:\n"+text+"\n") }
	return []Bundle{
		New("need-met", "", need("- {type: olm.gvk, value: {group: sound.example.com, version: v1, kind: Thing}}\n- {type: olm.package, value: {packageName: sound, version: '>=1.0.0'}}")),
		New("need-kind", "", need("- {type: olm.gvk, value: {group: absent.example.com, version: v1, kind: Ledger}}")),
		New("need-package", "", need("- {type: olm.package, value: {packageName: sound, version: '>=2.0.0'}}")),
		New("need-label", "", need("- {type: olm.label, value: {label: certified}}")),
		New("need-any", "", need("- type: olm.constraint\n  value: {failureMessage: a ledger, any: {constraints: [{gvk: {group: absent.example.com, version: v1, kind: Ledger}}, {package: {packageName: sound, versionRange: '>=1.0.0'}}]}}")),
		New("need-rule", "", need(`- type: olm.constraint`+"\n"+`  value: {cel: {rule: 'properties.exists(p, p.type == "absent")'}}`)),
		New("need-required", "", Edit(CSVFile, "  customresourcedefinitions:\n", "  customresourcedefinitions:\n    required: [{name: ledgers.absent.example.com, version: v1, kind: Ledger}]\n")),
		New("need-broken", "bundle-format", need("- {type: olm.package, value: {packageName: sound, version: newest}}")),
	}
}

// mistakeItems have mistakes of their authors.
func mistakeItems() []Bundle {
	return []Bundle{
		New("no-metadata", "bundle-format", Without(AnnotationsFile)),
		New("empty-metadata", "bundle-format", With(AnnotationsFile, "")),
		New("no-csv", "bundle-format", Without(CSVFile)),
		New("two-csvs", "bundle-format", func(files map[string]string) {
			files["manifests/z.yaml"] = strings.ReplaceAll(files[CSVFile], "v1.0.0", "v1.1.0")
		}),
		New("no-crd", "csv-owned", Without(CRDFile)),
		New("no-version", "csv-version package-graph", Edit(CSVFile, "  version: 1.0.0\n", "")),
		New("no-modes", "csv-install-modes", Edit(CSVFile, "supported: true", "supported: false")),
		New("mode-twice", "csv-install-modes", Edit(CSVFile, "type: MultiNamespace", "type: OwnNamespace")),
		New("mode-unknown", "csv-install-modes", Edit(CSVFile, "type: MultiNamespace", "type: SomeNamespace")),
		New("deployment-without-spec", "csv-deployments csv-fields", Edit(CSVFile, "      deployments:\n", "      deployments:\n      - {name: other}\n")),
		New("strategy-unknown", "csv-strategy", Edit(CSVFile, "strategy: deployment", "strategy: helm")),
		New("bad-skip-range", "csv-replaces package-graph", Edit(CSVFile, "    capabilities: Basic Install\n", "    olm.skipRange: below one\n")),
		New("bad-samples", "csv-samples", Edit(CSVFile, `"spec":{"size":1}}]'`, `"spec":{"size":1}'`)),
		New("sample-refused", "csv-samples", Edit(CSVFile, `{"size":1}`, `{"size":"1"}`)),
		New("sample-pruned", "", Edit(CSVFile, `{"size":1}`, `{"size":1,"length":2}`)),
		New("duplicate-keys", "bundle-format", Edit(CSVFile, "  displayName: NAME\n", "  displayName: NAME\n  displayName: other\n")),
		New("crd-not-structural", "crd-invalid", Edit(CRDFile, "size: {type: integer}", "size: {minimum: 1}")),
		New("object-unknown", "bundle-objects", With("manifests/more.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")),
		New("unknown-kubernetes-field", "bundle-format", Edit(CSVFile, "                image:", "                imagee: x\n                image:")),
		New("webhook-everything", "csv-webhooks", Field(strings.Replace(validating, "apiGroups: [NAME.example.com]", "apiGroups: ['*']", 1))),
	}
}

// hostileItems must not crash, hang, or take much memory.
func hostileItems() []Bundle {
	bomb := "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	long := "big: &big " + strings.Repeat("a", 100_000) + "\nall: [" + strings.Repeat("*big, ", 100_000) + "*big]\n"
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	deep := strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)
	return []Bundle{
		New("bomb", "bundle-format", With("manifests/bomb.yaml", object+bomb)),
		New("bomb-of-text", "bundle-format", With("manifests/bomb.yaml", object+long)),
		New("bomb-in-itself", "bundle-format", With("manifests/bomb.yaml", object+"a: &a [*a, *a]\n")),
		New("bomb-in-metadata", "bundle-format", With(DependenciesFile, "dependencies: [{type: olm.constraint, value: &v {all: {constraints: [*v]}}}]\n")),
		New("large-csv", "bundle-size", Field("  notes: '"+Text(5<<20)+"'")),
		New("deep-nesting", "", Field("  deep: "+deep)),
		New("too-deep", "bundle-format", Field("  deep: "+deep+deep), With("manifests/deep.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+"}")),
		New("many-documents", "bundle-format", With("manifests/many.yaml", strings.Repeat("a: b\n---\n", 20_000))),
		New("many-duplicates", "bundle-format", With("manifests/many.yaml", object+"data:\n"+strings.Repeat("  a: b\n", 20_000))),
		New("binary", "bundle-format", With("manifests/binary.yaml", "\x00\x01\xff\xfe\x80")),
		New("control-characters", "csv-name", Edit(CSVFile, "  name: NAME.v1.0.0", `  name: "\e[2J\u202eNAME"`)),
		New("list-without-items", "bundle-format", With("manifests/list.yaml", "apiVersion: v1\nkind: List\n<<: {items: [{kind: a}]}\n")),
		New("empty-permissions-null", "", Edit(CSVFile, `        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]`, "        rules: null")),
	}
}

// Text returns text that does not compress well, always the same.
func Text(size int) string {
	text := make([]byte, size)
	state := uint32(1)
	for i := range text {
		state = state*1664525 + 1013904223
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[state>>26]
	}
	return string(text)
}
