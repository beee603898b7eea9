package chartkind_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/tools/generate/chartkind"
)

var web = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Web"}

// chart writes a chart of files.
func chart(t *testing.T, files map[string]string) *helm.Chart {
	t.Helper()
	dir := t.TempDir()
	files["Chart.yaml"] = "apiVersion: v2\nname: web\nversion: 0.1.0\n"
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := helm.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// specOf returns the schema of the spec in the CRD of a chart.
func specOf(t *testing.T, files map[string]string) map[string]any {
	t.Helper()
	content, err := chartkind.CRD(chartkind.Kind{GroupVersionKind: web, Chart: chart(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &crd); err != nil {
		t.Fatal(err)
	}
	if crd.Name != "webs.shop.example.com" || crd.Spec.Names.ListKind != "WebList" {
		t.Errorf("the CRD is %s of %+v", crd.Name, crd.Spec.Names)
	}
	var columns []string
	for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, column.Name)
	}
	if got := strings.Join(columns, " "); got != "Ready Deployed Revision Age" {
		t.Errorf("the columns are %s", got)
	}
	var found struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct{ Properties map[string]map[string]any }
				}
			}
		}
	}
	if err := yaml.Unmarshal(content, &found); err != nil {
		t.Fatal(err)
	}
	return found.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

func TestSchemaOfValues(t *testing.T) {
	t.Parallel()
	got := specOf(t, map[string]string{"values.yaml": `# How many pods run.
replicas: 1
image:
  tag: "1.0" # the version
debug: false
hosts: []
nothing:
ratio: 0.5
`})
	want := parsed(t, `
type: object
description: The values of the chart web.
x-kubernetes-preserve-unknown-fields: true
properties:
  replicas: {x-kubernetes-int-or-string: true, description: How many pods run.}
  image:
    type: object
    x-kubernetes-preserve-unknown-fields: true
    properties: {tag: {x-kubernetes-int-or-string: true, description: the version}}
  debug: {type: boolean}
  hosts: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
  nothing: {x-kubernetes-preserve-unknown-fields: true}
  ratio: {x-kubernetes-preserve-unknown-fields: true}
`)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the schema is %v, want %v", got, want)
	}
}

// Parts that a CRD cannot express are left open, and required fields are not required, because the chart has defaults. Rules of
// Kubernetes are copied, and fields without a description have the comment in values.yaml.
func TestSchemaOfJSONSchema(t *testing.T) {
	t.Parallel()
	got := specOf(t, map[string]string{"values.yaml": `# How many pods run.
replicas: 2
# A comment.
disk:
  size: 1Gi # of each pod
  tier: fast # "hot" or "cold"
unknown: 1 # not in the schema
`, "values.schema.json": `{
  "type": "object", "description": "Settings.", "required": ["replicas"], "additionalProperties": false,
  "properties": {
    "replicas": {"type": "integer", "minimum": 0, "default": 2},
    "color": {"type": ["string", "null"], "enum": ["red", "blue"]},
    "disk": {"type": "object", "description": "The disk.", "additionalProperties": false, "properties": {
      "size": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "cannot be changed"}]},
      "tier": {"type": ["string", "integer"]}
    }},
    "size": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "hosts": {"type": "array", "items": {"$ref": "#/definitions/host"}}
  }
}`})
	want := parsed(t, `
type: object
description: Settings.
properties:
  replicas: {type: integer, minimum: 0, description: How many pods run.}
  color: {type: string, nullable: true, enum: [red, blue]}
  disk:
    type: object
    description: The disk.
    properties:
      size: {type: string, description: of each pod, x-kubernetes-validations: [{rule: self == oldSelf, message: cannot be changed}]}
      tier: {x-kubernetes-preserve-unknown-fields: true, description: '"hot" or "cold"'}
  size: {x-kubernetes-preserve-unknown-fields: true}
  labels: {type: object, additionalProperties: {type: string}}
  hosts: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
`)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the schema is %v, want %v", got, want)
	}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// The permissions cover optional parts, hooks, lookups, generated values, and the permissions that Roles of the chart
// grant.
func TestRoles(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: %s\nkind: %s\nmetadata: {name: a}\n"
	of := func(apiVersion, kind string) string {
		return strings.NewReplacer("%s\nk", apiVersion+"\nk", "%s\nm", kind+"\nm").Replace(object)
	}
	content, err := chartkind.Roles(t.Context(), "web-operator", chartkind.Kind{GroupVersionKind: web, Chart: chart(t, map[string]string{
		"values.yaml":             "policy: {enabled: false}\nmore: {enabled: false, deep: {run: false}}\n",
		"templates/config.yaml":   of("v1", "ConfigMap"),
		"templates/policy.yaml":   "{{ if .Values.policy.enabled }}" + of("networking.k8s.io/v1", "NetworkPolicy") + "{{ end }}",
		"templates/deep.yaml":     "{{ if and .Values.more.enabled .Values.more.deep.run }}" + of("apps/v1", "DaemonSet") + "{{ end }}",
		"templates/random.yaml":   "{{ $_ := randAlpha 5 }}",
		"templates/lookup.yaml":   "{{ $_ := lookup `v1` `Node` `` `one` }}",
		"templates/role.yaml":     of("rbac.authorization.k8s.io/v1", "Role") + "rules: [{apiGroups: [batch], resources: [jobs], verbs: [get, update]}]\n",
		"templates/hook.yaml":     "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, annotations: {helm.sh/hook: pre-install}}\n",
		"templates/gateway.yaml":  of("gateway.networking.k8s.io/v1", "Gateway"),
		"templates/urls.yaml":     of("rbac.authorization.k8s.io/v1", "ClusterRole") + "rules: [{nonResourceURLs: [/metrics], verbs: [get]}]\n",
		"templates/bind.yaml":     of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") + "roleRef: {kind: ClusterRole, name: a}\n",
		"templates/bindview.yaml": of("rbac.authorization.k8s.io/v1", "RoleBinding") + "roleRef: {kind: ClusterRole, name: view}\n",
		"templates/testhook.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {helm.sh/hook: test}}\n",
	})})
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(content), "---\n")
	first, _, _ = strings.Cut(first, "---\n")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, rule := range role.Rules {
		about := strings.Join(slices.Concat(rule.NonResourceURLs, rule.Resources), "") + "." + strings.Join(rule.APIGroups, "")
		got[strings.TrimSpace(strings.Join(rule.ResourceNames, "")+" "+about)] = strings.Join(rule.Verbs, " ")
	}
	const manage, read = "create delete get list patch watch", "get list watch"
	want := map[string]string{
		"configmaps.": manage, "networkpolicies.networking.k8s.io": manage, "daemonsets.apps": manage, "secrets.": manage, "nodes.": read,
		"roles.rbac.authorization.k8s.io": manage, "jobs.batch": "get update", "cronjobs.batch": manage,
		"webs.shop.example.com": "get list patch watch", "webs/finalizers.shop.example.com": "update", "webs/status.shop.example.com": "patch",
		"gateways.gateway.networking.k8s.io": manage, "/metrics.": "get", "clusterroles.rbac.authorization.k8s.io": manage,
		"clusterrolebindings.rbac.authorization.k8s.io": manage, "rolebindings.rbac.authorization.k8s.io": manage,
		"view clusterroles.rbac.authorization.k8s.io": "bind",
		"events.": "create patch", "events.events.k8s.io": "create patch",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the rules are %v, want %v", got, want)
	}
}

// Releases that are stored need permission to manage Secrets.
func TestRolesForStoredReleases(t *testing.T) {
	t.Parallel()
	of := chartkind.Kind{GroupVersionKind: web, Chart: chart(t, map[string]string{"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})}
	for stores, want := range map[bool]string{
		false: "  - secrets\n  verbs:\n  - get\n  - list\n  - watch\n",
		true:  "  - secrets\n  verbs:\n  - create\n  - delete\n  - get\n  - list\n  - patch\n  - watch\n",
	} {
		of.Stores = stores
		content, err := chartkind.Roles(t.Context(), "web-operator", of)
		if err != nil || !strings.Contains(string(content), want) {
			t.Errorf("stored %v: error %v, Roles %s", stores, err, content)
		}
	}
}
