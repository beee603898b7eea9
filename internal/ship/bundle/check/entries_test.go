package check_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// entries is the corpus of bundles in the layout registry+v1, each with its verdict.
func entries() []item {
	return append(append(append(append(append(supportedItems(), documentItems()...), definitionItems()...), dependencyItems()...), mistakeItems()...), hostileItems()...)
}

// supportedItems are what bundles may ask for.
func supportedItems() []item {
	deployment := "      permissions:\n      - serviceAccountName: NAME\n        rules: [{apiGroups: [\"\"], resources: [configmaps], verbs: [get, list]}]\n"
	return []item{
		entryOf("sound", ""),
		entryOf("mode-own", "", modesOnly("OwnNamespace")),
		entryOf("mode-own-single", "", modesOnly("OwnNamespace", "SingleNamespace")),
		entryOf("mode-own-single-all", "", modesOnly("OwnNamespace", "SingleNamespace", "AllNamespaces")),
		entryOf("mode-multi", "", modesOnly("MultiNamespace")),
		entryOf("mode-all", "", modesOnly("AllNamespaces")),
		entryOf("mode-missing-types", "", edit(csvFile, "  - {type: MultiNamespace, supported: true}\n", "")),
		entryOf("webhook-validating", "", field(validating)),
		entryOf("webhook-mutating", "", field(mutating)),
		entryOf("webhook-conversion", "", field(converting), modesOnly("AllNamespaces")),
		entryOf("api-service", "", field(apiService)),
		entryOf("deployments-9", "", deployments(9)),
		entryOf("deployments-0", "", deployments(0), edit(csvFile, "      deployments:\n", "      deployments: []\n"), edit(csvFile, deployment, ""),
			edit(csvFile, "serviceAccountName: NAME", "serviceAccountName: default")),
		entryOf("account-default", "", edit(csvFile, "serviceAccountName: NAME", "serviceAccountName: default")),
		entryOf("account-shared", "", edit(csvFile, deployment, deployment+strings.TrimPrefix(deployment, "      permissions:\n"))),
		entryOf("permissions-none", "", edit(csvFile, deployment, "")),
		entryOf("permissions-empty-rules", "", edit(csvFile, `rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]`, "rules: []")),
		entryOf("permissions-urls", "", edit(csvFile, "resources: [things], verbs: [get, list, watch, update]}]", "resources: [things], resourceNames: [a], verbs: [get]}, {nonResourceURLs: [/metrics], verbs: [get]}]")),
		entryOf("label-and-init-containers", "", edit(csvFile, "      - name: NAME\n        spec:\n", "      - name: NAME\n        label: {tier: back}\n        spec:\n"),
			edit(csvFile, "              containers:\n", "              initContainers: [{name: first, image: 'registry.example.com/first:1'}]\n              containers:\n")),
		entryOf("condition-variable-of-its-own", "", edit(csvFile, "                - name: WATCH_NAMESPACE\n", "                - {name: OPERATOR_CONDITION_NAME, value: other}\n                - name: WATCH_NAMESPACE\n")),
		entryOf("long-name-"+strings.Repeat("x", 40), ""),
		entryOf("other-objects", "", with("manifests/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: NAME}\nrules: []\n")),
		entryOf("native-apis", "", field("  nativeAPIs: [{group: apps, version: v1, kind: Deployment}]")),
	}
}

// documentItems are forms of files from several years.
func documentItems() []item {
	return []item{
		entryOf("unknown-fields", "", field("  maturity: alpha\n  cleanup: {enabled: true}\n  futureField: {deep: [1, 2.5, null, 'x']}\n  specialNumbers: [9007199254740993, 1e3, 0x10, 0o17, 017, -0.0]")),
		entryOf("unknown-annotations", "", edit(noteFile, "annotations:\n", "annotations:\n  com.example.yes: yes\n  com.example.number: 1.10\n  com.example.null: ~\n  com.example.long: |\n    two\n    lines\n  com.example.date: 2020-01-01\n")),
		entryOf("multi-document", "", func(files map[string]string) {
			files["manifests/all.yaml"] = "# all\n---\n" + files[csvFile] + "...\n---\n" + files[crdFile] + "---\n---\n"
			delete(files, csvFile)
			delete(files, crdFile)
		}),
		entryOf("json-files", "", func(files map[string]string) {
			for _, file := range []string{csvFile, crdFile} {
				content, err := yaml.YAMLToJSON([]byte(files[file]))
				if err != nil {
					panic(err)
				}
				files[strings.TrimSuffix(file, "yaml")+"json"] = string(content)
				delete(files, file)
			}
		}),
		entryOf("yml-files", "", func(files map[string]string) {
			files["manifests/csv.yml"], files["manifests/notes.txt"] = files[csvFile], "{{ not: yaml"
			delete(files, csvFile)
		}),
		entryOf("crlf", "", everywhere(func(content string) string { return strings.ReplaceAll(content, "\n", "\r\n") })),
		entryOf("byte-order-mark", "", everywhere(func(content string) string { return "\ufeff" + content })),
		entryOf("tabs-in-strings", "", field("  provider: {name: \"a\\tb\"}\n  notes: |\n    a\tb\n      \tindented\n    trailing \t\n")),
		entryOf("odd-strings", "", field("  odd: [\"yes\", 'null', \"1e3\", \"0x1\", \"12:30\", \" lead\", \"trail \", \"#\", \"a: b\", \"\\u0085x\", \"\\u2028\", \"\\ufeff\", \"\\x7f\", '', \"\\n\", \"\\n a\\nb\", \"- a\", '=', '<<', '~']")),
		entryOf("yes-and-no", "", edit(csvFile, "supported: true", "supported: yes"), edit(csvFile, "replicas: 1", "replicas: 1\n          paused: no")),
		entryOf("old-quoting", "", edit(csvFile, "version: 1.0.0\n", "version: '1.0.0'\n"), edit(csvFile, "kind: ClusterServiceVersion", `"kind": "ClusterServiceVersion"`)),
		entryOf("anchors", "", edit(csvFile, "selector: {matchLabels: {app: NAME}}", "selector: {matchLabels: &labels {app: NAME}}"), edit(csvFile, "metadata: {labels: {app: NAME}}", "metadata: {labels: *labels}")),
		entryOf("a-list", "", func(files map[string]string) {
			var objects []any
			for _, file := range []string{csvFile, crdFile} {
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
		entryOf("status-and-times", "", edit(csvFile, "metadata:\n  name: NAME.v1.0.0\n", "metadata:\n  name: NAME.v1.0.0\n  creationTimestamp: null\n  namespace: placeholder\n"), edit(csvFile, "metadata: {labels: {app: NAME}}", "metadata: {creationTimestamp: null, labels: {app: NAME}}\n"),
			func(files map[string]string) {
				files[csvFile] += "status: {phase: Succeeded, conditions: []}\n"
				files[crdFile] += "status: {acceptedNames: {kind: '', plural: ''}, conditions: [], storedVersions: []}\n"
			}),
		entryOf("target-ports", "", field(strings.Replace(validating, "targetPort: 9443", "targetPort: \"9443\"", 1))),
		entryOf("port-is-text", "bundle-format", edit(csvFile, "                env:\n", "                ports: [{containerPort: \"8080\"}]\n                env:\n")),
		entryOf("variable-is-number", "bundle-format", edit(csvFile, "                - name: WATCH_NAMESPACE\n", "                - {name: A, value: 1}\n                - name: WATCH_NAMESPACE\n")),
		entryOf("version-is-number", "bundle-format csv-version package-graph", edit(csvFile, "  version: 1.0.0\n", "  version: 1.0\n")),
		entryOf("annotation-is-bool", "bundle-format", edit(csvFile, "    capabilities: Basic Install\n", "    certified: false\n")),
		entryOf("release-is-number", "csv-fields", field("  release: 3")),
	}
}

// definitionItems are CRDs in v1beta1. Those without an error become CRDs that API servers accept.
func definitionItems() []item {
	spec := func(text string) change { return schema("{properties: {spec: {properties: {size: " + text + "}}}}") }
	return []item{
		entryOf("old-typed", "", schema("{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}")),
		entryOf("old-without-types", "", schema("{properties: {spec: {properties: {size: {minimum: 1, type: integer}}, required: [size]}}}")),
		entryOf("old-without-schema", "", schema("{}"), edit(crdFile, "  validation: {openAPIV3Schema: {}}\n", "")),
		entryOf("old-empty-schema", "", schema("{}")),
		entryOf("old-description-only", "", schema("{description: A thing.}")),
		entryOf("old-versions", "", schema("{}"), edit(crdFile, "  version: v1\n", "  version: v1\n  versions: [{name: v1, served: true, storage: true}, {name: v1alpha1, served: true, storage: false}]\n"),
			edit(csvFile, "    - {name: things", "    - {name: things.NAME.example.com, version: v1alpha1, kind: Thing, description: Older.}\n    - {name: things")),
		entryOf("old-columns", "", schema("{}"), edit(crdFile, "  version: v1\n", "  version: v1\n  additionalPrinterColumns: [{name: Size, type: integer, JSONPath: .spec.size}]\n  subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}\n")),
		entryOf("old-pruning", "", schema("{type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 1}}}}}"), edit(crdFile, "  version: v1\n", "  version: v1\n  preserveUnknownFields: false\n")),
		entryOf("old-metadata", "", schema("{properties: {apiVersion: {description: x, type: string}, kind: {}, metadata: {type: object, properties: {name: {type: string}, labels: {type: object}}, required: [name]}, spec: {}}}")),
		entryOf("old-int-or-string", "", spec("{anyOf: [{type: string}, {type: integer}]}")),
		entryOf("old-one-of-types", "", spec("{oneOf: [{type: string}, {type: integer}, {type: boolean}]}")),
		entryOf("old-all-of", "", spec("{type: integer, allOf: [{type: integer, minimum: 0}, {properties: {other: {type: string}}}]}")),
		entryOf("old-not", "", spec("{type: integer, not: {type: string}}")),
		entryOf("old-conditions", "", spec("{type: integer, anyOf: [{minimum: 1}, {maximum: -1}], not: {enum: [7]}}")),
		entryOf("old-required-one-of", "", schema("{properties: {spec: {type: object, oneOf: [{required: [size]}, {required: [length]}], properties: {size: {type: integer}, length: {type: integer}}}}}")),
		entryOf("old-unique-items", "", schema("{properties: {spec: {type: object, properties: {list: {type: array, uniqueItems: true, items: {type: string}}}}}}")),
		entryOf("old-tuple", "", schema("{properties: {spec: {type: object, properties: {list: {type: array, items: [{type: string}, {type: integer}]}}}}}")),
		entryOf("old-array-of-anything", "", schema("{properties: {spec: {type: object, properties: {list: {type: array}}}}}")),
		entryOf("old-closed", "", schema("{properties: {spec: {type: object, additionalProperties: false, properties: {size: {type: integer}}}}}")),
		entryOf("old-more-properties", "", schema("{properties: {spec: {type: object, additionalProperties: {type: integer}, properties: {size: {type: integer}}}}}")),
		entryOf("old-map", "", schema("{properties: {spec: {type: object, additionalProperties: {type: integer}}}}")),
		entryOf("old-pattern", "", spec("{type: integer, pattern: '^(?!a)'}")),
		entryOf("old-wrong-type", "", schema("{properties: {spec: {type: object, properties: {text: {type: any}}}}}")),
		entryOf("old-root-list", "", schema("{type: array}")),
		entryOf("old-conversion", "", schema("{}"), edit(crdFile, "  version: v1\n", "  version: v1\n  preserveUnknownFields: false\n  conversion: {strategy: None}\n")),
		entryOf("old-sample-refused", "csv-samples", spec("{type: string}")),
		entryOf("old-sample-pruned", "", schema("{type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}"), edit(crdFile, "  version: v1\n", "  version: v1\n  preserveUnknownFields: false\n")),
		entryOf("old-scope-unknown", "bundle-format", schema("{}"), edit(crdFile, "scope: Namespaced", "scope: Galaxy")),
	}
}

// dependencyItems need something.
func dependencyItems() []item {
	need := func(text string) change { return with(needFile, "dependencies:\n"+text+"\n") }
	return []item{
		entryOf("need-met", "", need("- {type: olm.gvk, value: {group: sound.example.com, version: v1, kind: Thing}}\n- {type: olm.package, value: {packageName: sound, version: '>=1.0.0'}}")),
		entryOf("need-kind", "", need("- {type: olm.gvk, value: {group: absent.example.com, version: v1, kind: Ledger}}")),
		entryOf("need-package", "", need("- {type: olm.package, value: {packageName: sound, version: '>=2.0.0'}}")),
		entryOf("need-label", "", need("- {type: olm.label, value: {label: certified}}")),
		entryOf("need-any", "", need("- type: olm.constraint\n  value: {failureMessage: a ledger, any: {constraints: [{gvk: {group: absent.example.com, version: v1, kind: Ledger}}, {package: {packageName: sound, versionRange: '>=1.0.0'}}]}}")),
		entryOf("need-rule", "", need(`- type: olm.constraint`+"\n"+`  value: {cel: {rule: 'properties.exists(p, p.type == "absent")'}}`)),
		entryOf("need-required", "", edit(csvFile, "  customresourcedefinitions:\n", "  customresourcedefinitions:\n    required: [{name: ledgers.absent.example.com, version: v1, kind: Ledger}]\n")),
		entryOf("need-broken", "bundle-format", need("- {type: olm.package, value: {packageName: sound, version: newest}}")),
	}
}

// mistakeItems have mistakes of their authors.
func mistakeItems() []item {
	return []item{
		entryOf("no-metadata", "bundle-format", without(noteFile)),
		entryOf("empty-metadata", "bundle-format", with(noteFile, "")),
		entryOf("no-csv", "bundle-format", without(csvFile)),
		entryOf("two-csvs", "bundle-format", func(files map[string]string) {
			files["manifests/z.yaml"] = strings.ReplaceAll(files[csvFile], "v1.0.0", "v1.1.0")
		}),
		entryOf("no-crd", "csv-owned", without(crdFile)),
		entryOf("no-version", "csv-version package-graph", edit(csvFile, "  version: 1.0.0\n", "")),
		entryOf("no-modes", "csv-install-modes", edit(csvFile, "supported: true", "supported: false")),
		entryOf("mode-twice", "csv-install-modes", edit(csvFile, "type: MultiNamespace", "type: OwnNamespace")),
		entryOf("mode-unknown", "csv-install-modes", edit(csvFile, "type: MultiNamespace", "type: SomeNamespace")),
		entryOf("deployment-without-spec", "csv-deployments csv-fields", edit(csvFile, "      deployments:\n", "      deployments:\n      - {name: other}\n")),
		entryOf("strategy-unknown", "csv-strategy", edit(csvFile, "strategy: deployment", "strategy: helm")),
		entryOf("bad-skip-range", "csv-replaces package-graph", edit(csvFile, "    capabilities: Basic Install\n", "    olm.skipRange: below one\n")),
		entryOf("bad-samples", "csv-samples", edit(csvFile, `"spec":{"size":1}}]'`, `"spec":{"size":1}'`)),
		entryOf("sample-refused", "csv-samples", edit(csvFile, `{"size":1}`, `{"size":"1"}`)),
		entryOf("sample-pruned", "", edit(csvFile, `{"size":1}`, `{"size":1,"length":2}`)),
		entryOf("duplicate-keys", "bundle-format", edit(csvFile, "  displayName: NAME\n", "  displayName: NAME\n  displayName: other\n")),
		entryOf("crd-not-structural", "crd-invalid", edit(crdFile, "size: {type: integer}", "size: {minimum: 1}")),
		entryOf("object-unknown", "bundle-objects", with("manifests/more.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")),
		entryOf("unknown-kubernetes-field", "bundle-format", edit(csvFile, "                image:", "                imagee: x\n                image:")),
		entryOf("webhook-everything", "csv-webhooks", field(strings.Replace(validating, "apiGroups: [NAME.example.com]", "apiGroups: ['*']", 1))),
	}
}

// hostileItems must not crash, hang, or take much memory.
func hostileItems() []item {
	bomb := "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	long := "big: &big " + strings.Repeat("a", 100_000) + "\nall: [" + strings.Repeat("*big, ", 100_000) + "*big]\n"
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	deep := strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)
	return []item{
		entryOf("bomb", "bundle-format", with("manifests/bomb.yaml", object+bomb)),
		entryOf("bomb-of-text", "bundle-format", with("manifests/bomb.yaml", object+long)),
		entryOf("bomb-in-itself", "bundle-format", with("manifests/bomb.yaml", object+"a: &a [*a, *a]\n")),
		entryOf("bomb-in-metadata", "bundle-format", with(needFile, "dependencies: [{type: olm.constraint, value: &v {all: {constraints: [*v]}}}]\n")),
		entryOf("large-csv", "bundle-size", field("  notes: '"+randomText(5<<20)+"'")),
		entryOf("deep-nesting", "", field("  deep: "+deep)),
		entryOf("too-deep", "bundle-format", field("  deep: "+deep+deep), with("manifests/deep.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+"}")),
		entryOf("many-documents", "bundle-format", with("manifests/many.yaml", strings.Repeat("a: b\n---\n", 20_000))),
		entryOf("many-duplicates", "bundle-format", with("manifests/many.yaml", object+"data:\n"+strings.Repeat("  a: b\n", 20_000))),
		entryOf("binary", "bundle-format", with("manifests/binary.yaml", "\x00\x01\xff\xfe\x80")),
		entryOf("control-characters", "csv-name", edit(csvFile, "  name: NAME.v1.0.0", `  name: "\e[2J\u202eNAME"`)),
		entryOf("list-without-items", "bundle-format", with("manifests/list.yaml", "apiVersion: v1\nkind: List\n<<: {items: [{kind: a}]}\n")),
		entryOf("empty-permissions-null", "", edit(csvFile, `        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]`, "        rules: null")),
	}
}

// randomText returns text that does not compress well, always the same.
func randomText(size int) string {
	text := make([]byte, size)
	state := uint32(1)
	for i := range text {
		state = state*1664525 + 1013904223
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[state>>26]
	}
	return string(text)
}
