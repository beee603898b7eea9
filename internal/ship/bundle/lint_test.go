package bundle_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Files of the valid bundle in testdata.
const (
	csvFile   = "manifests/lamp.clusterserviceversion.yaml"
	crdFile   = "manifests/lamps.yaml"
	otherFile = "manifests/metrics.yaml"
	notesFile = "metadata/annotations.yaml"
	needsFile = "metadata/dependencies.yaml"
)

func lint(t *testing.T, against string, dirs ...string) *doctor.Report {
	t.Helper()
	report, err := bundle.Lint(dirs, against)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// copied returns a copy of a directory in testdata.
func copied(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// edit replaces the only occurrence of a text in a file.
func edit(t *testing.T, dir, file, old, new string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(file))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(content), old) != 1 {
		t.Fatalf("%s contains %q %d times", file, old, strings.Count(string(content), old))
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAValidBundleHasNoFindings(t *testing.T) {
	t.Parallel()
	if found := lint(t, "", "testdata/lamp").Findings; len(found) > 0 {
		t.Errorf("found: %+v", found)
	}
}

// mistakes are edits of the valid bundle. Each causes this finding, and may cause others.
var mistakes = []struct {
	rule, file, old, new string
	// at is the text of the line of the finding. If it is empty, only the file is compared.
	at, message string
}{
	{"bundle-format", csvFile, "kind: ClusterServiceVersion", "kind: Service", "", "there is no ClusterServiceVersion"},
	{"bundle-format", csvFile, "  version: 1.1.0", "  version: [1]", "  version: [1]", "spec.version: want a string, got array"},
	{"bundle-format", csvFile, "containerPort: 443", "containerPort: many", "webhookdefinitions:", "containerPort: want a number, got string"},
	{"bundle-format", csvFile, "image: registry.example.com/lamp-operator:1.1.0\n", "images: x\n                image: z\n", "images: x", "unknown field spec.install.spec.deployments[0].spec.template.spec.containers[0].images"},
	{"bundle-format", crdFile, "spec:\n  group", "\tspec:\n  group", "", "found a tab character"},
	{"bundle-format", crdFile, "served: true", "served: 1", "", "spec.versions.served: want true or false, got number"},
	{"bundle-format", notesFile, "annotations:", "labels:", "", "want a mapping with the key annotations"},
	{"bundle-format", needsFile, "dependencies:", "needs:", "needs:", "unknown field needs"},
	{"bundle-format", needsFile, ">=1.2.0 <2.0.0", "about one", "- type: olm.package", "is not a range of versions"},
	{"bundle-format", needsFile, "type: olm.gvk", "type: olm.kind", "- type: olm.kind", `unknown type "olm.kind"`},
	{"bundle-format", needsFile, "kind: Battery", "resource: batteries", "", "any.constraints[0].gvk: want kind"},
	{"bundle-format", needsFile, `"volts" &&`, `"volts" ||| `, "", "any.constraints[1].cel.rule"},
	{"bundle-format", needsFile, `semver_compare(p.value, "12.0.0") >= 0)`, `true).size()`, "", "no matching overload"},
	{"bundle-format", needsFile, "      - cel:", "      - not: {constraints: []}\n        cel:", "", "want exactly one of all, any, cel, gvk, not, package, got 2"},
	{"bundle-format", "metadata/properties.yaml", "type: olm.maxOpenShiftVersion", "kind: olm.maxOpenShiftVersion", "", "unknown field kind"},
	{"bundle-annotations", notesFile, "manifests.v1: manifests/", "manifests.v1: files/", "manifests.v1: files/", `want manifests/, got "files/"`},
	{"bundle-annotations", notesFile, "package.v1: lamp-operator", "package.v1: ''", "package.v1", "package.v1 is missing"},
	{"bundle-labels", "Dockerfile", "channels.v1=stable,candidate", "channels.v1=stable", "", `is "stable,candidate" here and "stable" as a label`},
	{"csv-name", csvFile, "name: lamp-operator.v1.1.0", "name: lamp_operator.v1.1.0", "name: lamp_operator", "a lowercase RFC 1123 subdomain"},
	{"csv-name", csvFile, "name: lamp-operator.v1.1.0", "name: lamp-operator.v1.1.1", "name: lamp-operator.v1.1.1", "its package and version make lamp-operator.v1.1.0"},
	{"csv-replaces", csvFile, "replaces: lamp-operator.v1.0.0", "replaces: lamp-operator.v1.1.0", "replaces:", "cannot replace itself"},
	{"csv-replaces", csvFile, ">=1.0.0 <1.1.0", "below 1", "annotations:", "is not a range"},
	{"csv-replaces", csvFile, ">=1.0.0 <1.1.0", ">=1.0.0", "annotations:", "includes the version 1.1.0"},
	{"csv-install-modes", csvFile, "{type: AllNamespaces, supported: true}", "{type: AllNamespaces, supported: false}", "installModes:", "no install mode is supported"},
	{"csv-install-modes", csvFile, "{type: OwnNamespace,", "{type: Namespace,", "{type: Namespace,", `unknown install mode "Namespace"`},
	{"csv-install-modes", csvFile, "{type: OwnNamespace,", "{type: MultiNamespace,", "", "MultiNamespace is listed twice"},
	{"csv-min-kube-version", csvFile, "minKubeVersion: 1.28.0", "minKubeVersion: '1.28'", "minKubeVersion", "is not a semantic version"},
	{"csv-min-kube-version", csvFile, "  minKubeVersion: 1.28.0\n", "", "spec:", "is missing"},
	{"csv-related-images", csvFile, `image: "registry.example.com/lamp-operator:1.1.0"`, `image: "a b"`, "", `"a b" is not an image`},
	{"csv-listing", csvFile, "capabilities: Seamless Upgrades", "capabilities: Level 2", "capabilities: Level 2", "unknown level"},
	{"csv-listing", csvFile, "categories: Monitoring, Storage", "categories: Monitoring, Lamps", "categories:", `unknown category "Lamps"`},
	{"csv-listing", csvFile, "email: ada@example.com", "email: ada", "maintainers:", "want a name and an e-mail address"},
	{"csv-listing", csvFile, `"https://lamps.example.com"`, "lamps", "links:", "want a name and a URL"},
	{"csv-listing", csvFile, "mediatype: image/svg+xml", "mediatype: image/png", "mediatype: image/png", "not image/png"},
	{"csv-listing", csvFile, "provider: {name: Example}", "provider: {}", "provider:", "spec.provider.name is missing"},
	{"csv-strategy", csvFile, "strategy: deployment", "strategy: helm", "strategy: helm", `want deployment, got "helm"`},
	{"csv-deployments", csvFile, "matchLabels: {app: lamp-operator}", "matchLabels: {app: lamp}", "selector:", "does not match the labels of the template"},
	{"csv-deployments", csvFile, "image: registry.example.com/lamp-operator:1.1.0\n", "image: ''\n", "name: manager", "has no image"},
	{"csv-requests", csvFile, "cpu: 10m, ", "", "name: manager", "has no request for cpu"},
	{"csv-permissions", csvFile, "verbs: [get, list, watch]", `verbs: ["*"]`, "rules:", "ServiceAccount lamp-operator may"},
	{"csv-service-account", csvFile, "serviceAccountName: lamp-operator\n              containers", "serviceAccountName: default\n              containers", "", "no Deployment uses ServiceAccount lamp-operator"},
	{"csv-service-account", otherFile, "kind: Service\nmetadata:\n  name: lamp-metrics", "kind: ServiceAccount\nmetadata:\n  name: lamp-operator", "name: lamp-operator", "is also created by the permissions of the CSV"},
	{"csv-owned", csvFile, "name: lamps.light.example.com, version: v1, kind: Lamp", "name: lamps.light.example.com, version: v1, kind: Light", "name: lamps.light", `defines Lamp, the CSV says "Light"`},
	{"csv-owned", csvFile, ", description: One lamp.", "", "name: lamps.light", "has no description"},
	{"csv-owned", csvFile, "name: sockets.power.example.com, version: v1, kind: Socket", "name: lamps.light.example.com, version: v1, kind: Lamp", "- {name: lamps", "is also listed as owned"},
	{"crd-invalid", crdFile, "type: integer, minimum: 1", "minimum: 1", "watts:", "must not be empty for specified object fields"},
	{"crd-v1beta1", crdFile, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", "apiVersion:", "v1beta1"},
	{"csv-samples", csvFile, `"watts": 5`, `"watts": 0`, "", "should be greater than or equal to 1"},
	{"csv-samples", csvFile, `"watts": 5`, `"volts": 5`, "", "spec.volts is unknown, and dropped"},
	{"csv-samples", csvFile, `[{"apiVersion"`, `{{"apiVersion"`, "", "want a list of objects in JSON"},
	{"csv-webhooks", csvFile, "apiGroups: [light.example.com], apiVersions", `apiGroups: ["*"], apiVersions`, "- type: Validating", `may not be called for the group "*"`},
	{"csv-webhooks", csvFile, "deploymentName: lamp-operator", "deploymentName: lamps", "", `has no Deployment "lamps"`},
	{"csv-webhooks", csvFile, "sideEffects: None", "sideEffects: Some", "", "want None or NoneOnDryRun"},
	{"csv-webhooks", csvFile, "admissionReviewVersions: [v1]", "admissionReviewVersions: []", "", "admissionReviewVersions is missing"},
	{"bundle-objects", otherFile, "kind: Service", "kind: Pod", "kind: Pod", "a bundle cannot contain a Pod"},
	{"bundle-objects", otherFile, "  ports: [{port: 8443}]", "  ports: [{port: 8443}]\n---\n{apiVersion: v1, kind: Service, metadata: {name: lamp-metrics}}", "", "Service lamp-metrics is also in"},
	{"bundle-objects", otherFile, "apiVersion: v1", "apiVersion: serving.knative.dev/v1", "apiVersion:", "Service lamp-metrics of serving.knative.dev/v1, which a bundle cannot contain"},
	{"bundle-objects", otherFile, "port: 8443", "port: https", "apiVersion:", "cannot unmarshal string"},
	{"bundle-objects", otherFile, "port: 8443", "port: 8443, prot: TCP", "apiVersion:", "without spec.ports[0].prot, which Kubernetes does not know"},
	{"bundle-objects", otherFile, "apiVersion: v1\nkind: Service\n", "apiVersion: rbac.authorization.k8s.io/v1alpha1\nkind: Role\n", "apiVersion:", "which API servers do not serve: use rbac.authorization.k8s.io/v1"},
	{"removed-api", otherFile, "apiVersion: v1\nkind: Service", "apiVersion: batch/v1beta1\nkind: CronJob", "apiVersion:", "Kubernetes 1.25 removed batch/v1beta1"},
	{"removed-api", csvFile, "  maturity: stable\n", "  nativeAPIs: [{group: policy, version: v1beta1, kind: PodSecurityPolicy}]\n", "nativeAPIs", "Kubernetes 1.25 removed policy/v1beta1, so the requirement is never met"},
	{"removed-api", csvFile, "verbs: [get, list, watch]}", "verbs: [get, list, watch]}, {apiGroups: [policy], resources: [podsecuritypolicies], verbs: [use]}", "rules:", "Kubernetes 1.25 removed the resource podsecuritypolicies of policy"},
	{"removed-api", csvFile, "verbs: [get, list, watch]}", "verbs: [get, list, watch]}, {apiGroups: [apps, extensions], resources: [deployments], verbs: [get]}", "rules:", "Kubernetes 1.22 removed the API group extensions"},
	{"converted-api", otherFile, "apiVersion: v1\nkind: Service", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget", "apiVersion:", "PodDisruptionBudget lamp-metrics is written in policy/v1, because Kubernetes 1.25 removed policy/v1beta1"},
	{"crd-v1beta1", crdFile, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", "apiVersion:", "which the lifecycle manager converts: version v1: 2 objects preserve unknown fields"},
	{"channel-names", notesFile, "channels.v1: stable,candidate", "channels.v1: stable,alpha", "channels.v1", "channel alpha: want candidate, fast or stable"},
	{"csv-install-modes", csvFile, "  installModes:\n", "  modes:\n", "spec:", "spec.installModes is missing"},
	{"csv-min-kube-version", csvFile, "minKubeVersion: 1.28.0", "minKubeVersion: 4.12.0", "minKubeVersion", "Kubernetes has no version 4.12.0"},
	{"csv-listing", csvFile, "  icon:\n", "  icon:\n  - {mediatype: image/svg+xml, base64data: PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=}\n", "icon:", "want one icon, got 2"},
	{"csv-platforms", csvFile, "  namespace: placeholder\n", "  labels: {operatorframework.io/arch.arm64: 'true'}\n", "labels:", `operatorframework.io/arch.arm64: want supported, got "true"`},
	{"csv-platforms", csvFile, "  namespace: placeholder\n", "  labels: {operatorframework.io/os.windows: ''}\n", "labels:", `operatorframework.io/os.windows: want supported, got ""`},
	{"csv-owned", csvFile, "description: One lamp.}\n", "description: One lamp.}\n    - {name: lamps.light.example.com, version: v1, kind: Lamp, description: Again.}\n", "", "lamps.light.example.com in version v1 is listed twice"},
	{"csv-owned", csvFile, "    owned:\n    - {name: lamps.light.example.com, version: v1, kind: Lamp, displayName: Lamp, description: One lamp.}\n", "", "", "CustomResourceDefinition lamps.light.example.com is not listed as owned"},
	{"csv-samples", csvFile, `"kind": "Lamp"`, `"kind": "Lantern"`, "", "the CSV does not own Lantern"},
	{"csv-samples", csvFile, `"kind": "Lamp"`, `"kind": "Lantern"`, "- {name: lamps", "alm-examples has no sample of Lamp"},
	{"generated-names", otherFile, "name: lamp-metrics", "name: lamp-operator-service", "name: lamp-operator-service", "has the name of the Service of Deployment lamp-operator"},
	{"generated-names", otherFile, "kind: Service\nmetadata:\n  name: lamp-metrics\nspec:\n  ports: [{port: 8443}]", "kind: Secret\nmetadata:\n  name: lamp-operator-service-cert", "name: lamp-operator-service-cert", "has the name of the certificate of Deployment lamp-operator"},
	{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: served.example.com, version: v1, kind: Beam, deploymentName: other}"), "", `deploymentName: the CSV has no Deployment "other"`},
	{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: authorization.k8s.io, version: v1, kind: Beam, deploymentName: lamp-operator}"), "", "the API group authorization.k8s.io belongs to Kubernetes"},
	{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: served.example.com, kind: Beam, deploymentName: lamp-operator}"), "", "want group, version and kind"},
	{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: light.example.com, version: v1, kind: Beam, deploymentName: lamp-operator}"), "", "CustomResourceDefinition lamps.light.example.com provides light.example.com/v1"},
	{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: a.example.com, version: v1, kind: Beam, deploymentName: lamp-operator}, {group: a.example.com, version: v1, kind: Beam, deploymentName: lamp-operator}"), "", "Beam of a.example.com/v1 is listed twice"},
	{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: a.example.com, version: v1, kind: Beam, deploymentName: lamp-operator}, {group: a.example.com, version: v1, kind: Ray, deploymentName: other}"), "", `"lamp-operator" and "other" serve the same APIService v1.a.example.com`},
}

// apis returns the API services of an operator, and the begin of its webhooks.
func apis(owned string) string {
	return "  apiservicedefinitions: {owned: [" + owned + "]}\n  webhookdefinitions:\n"
}

// What looks like a mistake and is none has no finding of the rule.
func TestCorrectForms(t *testing.T) {
	t.Parallel()
	for _, form := range []struct{ rule, file, old, new string }{
		{"channel-names", notesFile, "channels.v1: stable,candidate", "channels.v1: stable-v1,fast-v1.2,candidate"},
		{"csv-platforms", csvFile, "  namespace: placeholder\n", "  labels: {operatorframework.io/arch.arm64: supported, operatorframework.io/os.linux: supported, other: 'true'}\n"},
		{"csv-min-kube-version", csvFile, "minKubeVersion: 1.28.0", "minKubeVersion: v1.28.0-rc.1"},
		{"csv-install-modes", csvFile, "  - {type: MultiNamespace, supported: false}\n", ""},
		{"removed-api", csvFile, "  maturity: stable\n", "  nativeAPIs: [{group: apps, version: v1, kind: Deployment}]\n"},
		{"removed-api", csvFile, "verbs: [get, list, watch]}", "verbs: [get, list, watch]}, {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get]}"},
		{"removed-api", otherFile, "apiVersion: v1\nkind: Service", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget"}, // another rule
		{"converted-api", otherFile, "apiVersion: v1\nkind: Service", "apiVersion: policy/v1\nkind: PodDisruptionBudget"},
		{"generated-names", otherFile, "name: lamp-metrics", "name: lamp-operator"},
		{"csv-samples", csvFile, `"metadata": {"name": "desk"}`, `"metadata": {"name": "desk", "labels": {"a": "b"}}`},
		{"csv-owned", csvFile, "description: One lamp.", "description: 'One lamp, or two.'"},
		{"csv-listing", csvFile, "categories: Monitoring, Storage", "categories: 'Monitoring,Storage,'"},
		{"csv-api-services", csvFile, "  webhookdefinitions:\n", apis("{group: a.example.com, version: v1, kind: Beam, deploymentName: lamp-operator}, {group: a.example.com, version: v1, kind: Ray, deploymentName: lamp-operator}")},
		{"bundle-objects", otherFile, "port: 8443", "port: 8443, targetPort: https, appProtocol: http"},
	} {
		t.Run(form.rule+" "+form.new, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, "lamp")
			edit(t, dir, form.file, form.old, form.new)
			for _, one := range lint(t, "", dir).Findings {
				if one.Rule == form.rule {
					t.Errorf("found: %s: %s", one.Place, one.Message)
				}
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		t.Run(m.rule+" "+m.new, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, "lamp")
			edit(t, dir, m.file, m.old, m.new)
			found := lint(t, "", dir).Findings
			i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Rule == m.rule && strings.Contains(f.Message, m.message) })
			if i < 0 {
				t.Fatalf("want a finding of %s with %q, found: %s", m.rule, m.message, messages(found))
			}
			if m.at == "" {
				return
			}
			if line := lineOf(t, found[i].Place); !strings.Contains(line, strings.TrimSpace(m.at)) {
				t.Errorf("it is at %s: %q, want %q", found[i].Place, line, m.at)
			}
		})
	}
}

func messages(found []doctor.Finding) string {
	var all []string
	for _, one := range found {
		all = append(all, one.Place.String()+" "+one.Rule+": "+one.Message)
	}
	return strings.Join(all, "\n")
}

// lineOf returns the text of the line at a place.
func lineOf(t *testing.T, at rule.Place) string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(at.File))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	if at.Line > len(lines) {
		t.Fatalf("%s has %d lines", at, len(lines))
	}
	return lines[at.Line-1]
}

// Invalid bundles with more than one finding, or with edits in several files.
func TestMoreMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, dir string)
		want   []string
	}{
		"a version that is none": {func(t *testing.T, dir string) {
			edit(t, dir, csvFile, "  version: 1.1.0", "  version: one")
		}, []string{"csv-name", "csv-version"}},
		"a conversion webhook": {func(t *testing.T, dir string) {
			edit(t, dir, csvFile, "type: ValidatingAdmissionWebhook", "type: ConversionWebhook")
			edit(t, dir, csvFile, "{type: OwnNamespace, supported: false}", "{type: OwnNamespace, supported: true}")
		}, []string{"csv-install-modes", "csv-webhooks"}},
		"a definition is missing": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(crdFile))); err != nil {
				t.Fatal(err)
			}
		}, []string{"csv-owned"}},
		"a link out of the bundle": {func(t *testing.T, dir string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "manifests", "passwd.yaml")); err != nil {
				t.Fatal(err)
			}
		}, []string{"bundle-format"}},
		"two Deployments with one Service": {func(t *testing.T, dir string) {
			edit(t, dir, csvFile, "    deploymentName: lamp-operator\n", "    deploymentName: lamp-operator.x\n")
			edit(t, dir, csvFile, "  webhookdefinitions:\n", apis("{group: a.example.com, version: v1, kind: Beam, deploymentName: lamp-operator-x}"))
			edit(t, dir, csvFile, "      - name: lamp-operator\n", "      - {name: lamp-operator-x, spec: &spec {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1m, memory: 1Mi}}}]}}}}\n      - name: lamp-operator.x\n")
		}, []string{"generated-names"}},
		"a definition twice": {func(t *testing.T, dir string) {
			content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(crdFile)))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "manifests", "again.yaml"), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"bundle-objects"}},
		"a large description": {func(t *testing.T, dir string) {
			edit(t, dir, crdFile, "minimum: 1", "minimum: 1, description: \""+noise(1200<<10)+"\"")
		}, []string{"bundle-size"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, "lamp")
			test.change(t, dir)
			report := lint(t, "", dir)
			var rules []string
			for _, one := range report.Findings {
				if !slices.Contains(rules, one.Rule) {
					rules = append(rules, one.Rule)
				}
			}
			slices.Sort(rules)
			if !slices.Equal(rules, test.want) || !report.Failed() {
				t.Errorf("want findings of %v, found: %s", test.want, messages(report.Findings))
			}
		})
	}
}

// noise returns incompressible text, which is the same each time.
func noise(size int) string {
	text, state := make([]byte, size), uint32(1)
	for i := range text {
		state = state*1664525 + 1013904223
		text[i] = 'A' + byte(state>>24)%58
		if text[i] == '\\' {
			text[i] = 'x'
		}
	}
	return string(text)
}

func TestUpgrades(t *testing.T) {
	t.Parallel()
	dir := copied(t, "lamp")
	edit(t, dir, crdFile, "type: integer, minimum: 1", "type: string")
	edit(t, dir, csvFile, `"watts": 5`, `"watts": "5"`)
	found := lint(t, "testdata/lamp", dir).Findings
	if len(found) != 1 || found[0].Rule != "upgrade-unsafe" || !strings.Contains(found[0].Message, "spec.watts") {
		t.Errorf("want that spec.watts has another type, found: %+v", found)
	}
	if found := lint(t, dir, dir).Findings; len(found) > 0 {
		t.Errorf("a bundle compared with itself: %+v", found)
	}
	edit(t, dir, crdFile, "served: true", "served: 1")
	if _, err := bundle.Lint([]string{"testdata/lamp"}, dir); err == nil || !strings.Contains(err.Error(), "spec.versions.served") {
		t.Errorf("an older bundle that cannot be read: %v", err)
	}
}

// The channels of a package in the older layout have the same names as those of bundles.
func TestNamesOfChannels(t *testing.T) {
	t.Parallel()
	var all []string
	for _, one := range lint(t, "", "testdata/bell").Findings {
		if one.Rule == "channel-names" {
			all = append(all, one.Message)
		}
	}
	if len(all) != 1 || !strings.Contains(all[0], "channel old: want candidate, fast or stable") {
		t.Errorf("found %q", all)
	}
}

// The upgrades in a channel of a package have to lead from each version to the newest one.
func TestPackages(t *testing.T) {
	t.Parallel()
	const newest = "1.1.0/bell.clusterserviceversion.yaml"
	for name, test := range map[string]struct{ file, old, new, want string }{
		"as it is":                {"bell.package.yaml", "packageName: bell", "packageName: bell", ""},
		"no head":                 {"bell.package.yaml", "currentCSV: bell.v1.1.0", "currentCSV: bell.v2", "channel stable: there is no CSV bell.v2"},
		"unknown default channel": {"bell.package.yaml", "defaultChannel: stable", "defaultChannel: new", `want one of the channels of package bell, got "new"`},
		"a channel twice":         {"bell.package.yaml", "name: old", "name: stable", "channel stable is listed twice"},
		"no name":                 {"bell.package.yaml", "packageName: bell\n", "", "packageName is missing"},
		"a replaced stranger":     {newest, "replaces: bell.v1.0.0", "replaces: bell.v0.9.0", "replaces bell.v0.9.0, which is not in the package"},
		"a cycle":                 {"1.0.0/bell.clusterserviceversion.yaml", "version: 1.0.0", "version: 1.0.0\n  replaces: bell.v1.1.0", "bell.v1.0.0 replaces bell.v1.1.0, which is a newer version of it"},
		"nothing leads to it":     {"bell.package.yaml", "\n- name: stable\n  currentCSV: bell.v1.1.0", "", "no channel of package bell leads to bell.v1.1.0"},
		"a definition is dropped": {"1.1.0/bells.crd.yaml", "name: bells.sound.example.com", "name: bells.noise.example.com", "CustomResourceDefinition bells.sound.example.com of bell.v1.0.0 is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, "bell")
			edit(t, dir, test.file, test.old, test.new)
			var all []string
			for _, one := range lint(t, "", dir).Findings {
				if one.Rule == "package-channels" || one.Rule == "upgrade-unsafe" {
					all = append(all, one.Message)
				}
			}
			if test.want == "" && len(all) > 0 || !strings.Contains(strings.Join(all, "\n"), test.want) {
				t.Errorf("want %q, found: %q", test.want, all)
			}
		})
	}
}

// Each rule finds at least one of the mistakes.
func TestEachRuleIsTested(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{"csv-missing-permissions": true, "csv-unused-permissions": true, "bundle-size": true, "csv-version": true, "package-channels": true, "upgrade-unsafe": true}
	for _, m := range mistakes {
		tested[m.rule] = true
	}
	for _, one := range bundle.Rules() {
		if !tested[one.Name] {
			t.Errorf("no mistake tests the rule %s", one.Name)
		}
	}
}

func TestWhatIsNotABundle(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if _, err := bundle.Lint([]string{empty}, ""); err == nil || !strings.Contains(err.Error(), "has no bundle in it") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := bundle.Read(empty); err == nil || !strings.Contains(err.Error(), "is not a bundle") {
		t.Errorf("reading an empty directory: %v", err)
	}
	if _, err := bundle.Lint([]string{filepath.Join(empty, "none")}, ""); err == nil || strings.Contains(err.Error(), "image") {
		t.Errorf("a directory that does not exist: %v", err)
	}
	if _, err := bundle.Lint([]string{"registry.example.com/lamp:1"}, ""); err == nil || !strings.Contains(err.Error(), "with `operon bundle pull`") {
		t.Errorf("an image: %v", err)
	}
}

// No bundle crashes the checks, whatever its content is.
func FuzzLint(f *testing.F) {
	for _, file := range []string{csvFile, crdFile, notesFile, needsFile} {
		content, err := os.ReadFile(filepath.Join("testdata", "lamp", filepath.FromSlash(file)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file, content)
	}
	f.Fuzz(func(t *testing.T, file string, content []byte) {
		if !slices.Contains([]string{csvFile, crdFile, notesFile, needsFile}, file) {
			return
		}
		dir := copied(t, "lamp")
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(file)), content, 0o600); err != nil {
			t.Fatal(err)
		}
		lint(t, "", dir)
	})
}
