package contents_test

import (
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/olm/contents"
)

const (
	converter = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v1.0.0}
spec: {webhookdefinitions: [{type: ConversionWebhook, generateName: c, conversionCRDs: [shops.example.com]}]}
`
	converted = `
metadata: {name: shops.example.com}
spec: {group: example.com, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://198.18.0.1/convert"}}}}
`
)

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	read(t, text, &made.Object)
	return made
}

// A plan does not write the conversion that a bundle contains: the version describes it. Without that, the bundle is refused.
func TestConversionOfBundles(t *testing.T) {
	t.Parallel()
	of := func(csv string) (*contents.Objects, error) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		read(t, converted, crd)
		return contents.Of(contents.Bundle{CSV: object(t, csv), CRDs: []contents.Definition{{CustomResourceDefinition: crd}}}, "shops", "", "")
	}
	made, err := of(converter)
	if err != nil {
		t.Fatal(err)
	}
	if spec := made.CRDs[0].Object["spec"].(map[string]any); spec["group"] != "example.com" || spec["conversion"] != nil {
		t.Errorf("the definition is %v", spec)
	}
	_, err = of(strings.Replace(converter, "[shops.example.com]", "[]", 1))
	if err == nil || !strings.Contains(err.Error(), "the CustomResourceDefinition shops.example.com has a conversion webhook, and no ConversionWebhook") {
		t.Errorf("the error is %v", err)
	}
}

// A kind stays stored as it is until its operator converts it, and is stored as its bundle says then.
func TestStoredVersion(t *testing.T) {
	t.Parallel()
	const one, both = "[{name: v1, storage: true}]", "[{name: v2, storage: true}, {name: v1, storage: false}]"
	for name, test := range map[string]struct{ live, wanted, want, stored string }{
		"a new version":             {"{versions: " + one + "}", both, "[{name: v2, storage: false}, {name: v1, storage: true}]", "v2"},
		"nothing converts":          {"{conversion: {strategy: None}, versions: " + one + "}", both, "[{name: v2, storage: false}, {name: v1, storage: true}]", "v2"},
		"an older version converts": {"{conversion: {strategy: Webhook}, versions: " + one + "}", both, "[{name: v2, storage: false}, {name: v1, storage: true}]", "v2"},
		"the same version":          {"{versions: " + one + "}", one, one, ""},
		"the old version is gone":   {"{versions: [{name: v0, storage: true}]}", both, both, ""},
		"the kind does not exist":   {"{}", both, both, ""},
		"the wanted stores nothing": {"{versions: " + one + "}", "[{name: v1}]", "[{name: v1}]", ""},
	} {
		live := &apiextensionsv1.CustomResourceDefinition{}
		read(t, "{metadata: {name: shops.example.com, resourceVersion: '7'}, spec: "+test.live+"}", live)
		wanted := object(t, "{metadata: {name: shops.example.com}, spec: {versions: "+test.wanted+"}}")
		if err := contents.KeepStored(wanted, live, "shop.v2.0.0"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, want := wanted.Object["spec"].(map[string]any)["versions"], object(t, "{versions: "+test.want+"}").Object["versions"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the versions are %v, want %v", name, got, want)
		}
		if got := wanted.GetAnnotations()[contents.AnnotationStored]; got != test.stored {
			t.Errorf("%s: the version to store later is %q, want %q", name, got, test.stored)
		}
	}
	live := &apiextensionsv1.CustomResourceDefinition{}
	read(t, "{metadata: {resourceVersion: '7', annotations: {olm.stored-version: v2, olm.converted-by: shop.v2.0.0}}, spec: {versions: [{name: v2}, {name: v1, storage: true}]}}", live)
	const want = `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/metadata/annotations/olm.stored-version"},` +
		`{"op":"remove","path":"/metadata/annotations/olm.converted-by"},{"op":"replace","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`
	if patch, err := contents.StorePatch(live, "shop.v2.0.0"); err != nil || string(patch) != want {
		t.Errorf("the patch is %s, error %v, want %s", patch, err, want)
	}
	if patch, err := contents.StorePatch(live, "shop.v1.0.0"); err != nil || patch != nil {
		t.Errorf("of the version before, the patch is %s, error %v", patch, err)
	}
	live.Annotations[contents.AnnotationStored] = "v3"
	if patch, err := contents.StorePatch(live, "shop.v2.0.0"); err != nil || patch != nil {
		t.Errorf("for a version that is gone, the patch is %s, error %v", patch, err)
	}
}

// Objects are written in the version that API servers serve, with the same meaning, or refused.
func TestCurrent(t *testing.T) {
	t.Parallel()
	const rules = "{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: a}, rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}"
	for name, test := range map[string]struct{ given, want, change, err string }{
		"as it is":      {given: rules, want: rules},
		"a Role":        {given: strings.Replace(rules, "io/v1", "io/v1beta1", 1), want: rules, change: "Role a is written in rbac.authorization.k8s.io/v1, because Kubernetes 1.22 removed rbac.authorization.k8s.io/v1beta1"},
		"an old policy": {given: "{kind: NetworkPolicy, apiVersion: extensions/v1beta1, metadata: {name: a}, spec: {podSelector: {}}}", want: "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, metadata: {name: a}, spec: {podSelector: {}}}", change: "1.16 removed extensions/v1beta1"},
		"a budget":      {given: "{kind: PodDisruptionBudget, apiVersion: policy/v1beta1, metadata: {name: a}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}", want: "{kind: PodDisruptionBudget, apiVersion: policy/v1, metadata: {name: a}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}", change: "1.25 removed policy/v1beta1"},
		"a budget for no pods": {
			given: "{kind: PodDisruptionBudget, apiVersion: policy/v1beta1, metadata: {name: a}, spec: {minAvailable: 1, selector: {matchLabels: {}}}}",
			want:  "{kind: PodDisruptionBudget, apiVersion: policy/v1, metadata: {name: a}, spec: {minAvailable: 1}}", change: "its empty selector is left out",
		},
		"a budget for all pods": {
			given: "{kind: PodDisruptionBudget, apiVersion: policy/v1, metadata: {name: a}, spec: {selector: {}}}",
			want:  "{kind: PodDisruptionBudget, apiVersion: policy/v1, metadata: {name: a}, spec: {selector: {}}}",
		},
		"unknown fields": {
			given:  "{kind: Service, apiVersion: v1, metadata: {name: a, lables: {}}, spec: {ports: [{port: 1, prot: TCP}]}}",
			want:   "{kind: Service, apiVersion: v1, metadata: {name: a}, spec: {ports: [{port: 1}]}}",
			change: "Service a is written without metadata.lables, spec.ports[0].prot, which Kubernetes does not know",
		},
		"a kind of a CRD":             {given: "{kind: ServiceMonitor, apiVersion: monitoring.coreos.com/v1, metadata: {name: a}, spec: {x: 1}}", want: "{kind: ServiceMonitor, apiVersion: monitoring.coreos.com/v1, metadata: {name: a}, spec: {x: 1}}"},
		"a kind of another group":     {given: "{kind: Service, apiVersion: serving.knative.dev/v1, metadata: {name: a}}", err: "Service a of serving.knative.dev/v1, which a bundle cannot contain"},
		"a kind that is not in plans": {given: "{kind: Pod, apiVersion: v1, metadata: {name: a}}", err: "Pod a of v1, which a bundle cannot contain"},
		"a version without a twin":    {given: "{kind: Role, apiVersion: rbac.authorization.k8s.io/v1alpha1, metadata: {name: a}}", err: "Role a is in rbac.authorization.k8s.io/v1alpha1, which API servers do not serve: use rbac.authorization.k8s.io/v1"},
		"a wrong type":                {given: "{kind: Service, apiVersion: v1, metadata: {name: a}, spec: {ports: [{port: http}]}}", err: "Service a: json: cannot unmarshal string into Go struct field"},
		"no name":                     {given: "{kind: Service, apiVersion: v1, metadata: {generateName: a}}", err: "Service: metadata.name is missing or not a name"},
		"a path":                      {given: "{kind: Service, apiVersion: v1, metadata: {name: a/b}}", err: "Service a/b: metadata.name is missing or not a name"},
		"a field that is no path":     {given: "{kind: Service, apiVersion: v1, metadata: {name: a}, 'a.b[0]': 1}", err: "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := object(t, test.given)
			made, change, err := contents.Current(given)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := text(t, made), text(t, object(t, test.want)); got != want {
				t.Errorf("made %s, want %s", got, want)
			}
			if test.change == "" && change != "" || !strings.Contains(change, test.change) {
				t.Errorf("the change is %q, want %q", change, test.change)
			}
			if text(t, given) != text(t, object(t, test.given)) {
				t.Error("the given object was changed")
			}
		})
	}
}

func text(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	content, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// A plan writes each object once, and in its namespace or in none.
func TestObjects(t *testing.T) {
	t.Parallel()
	given := contents.Bundle{CSV: object(t, converter), Others: []*unstructured.Unstructured{
		object(t, "{kind: ConfigMap, apiVersion: v1, metadata: {name: a, namespace: other}}"),
		object(t, "{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1beta1, metadata: {name: a, namespace: other}}"),
	}}
	made, err := contents.Of(given, "shops", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if made.Others[0].GetNamespace() != "shops" || made.Others[1].GetNamespace() != "" || made.Others[1].GetLabels()["olm.owner"] != "shop.v1.0.0" {
		t.Errorf("the objects are %v", made.Others)
	}
	if made.Change(made.Others[0]) != "" || !strings.Contains(made.Change(made.Others[1]), "1.22") {
		t.Errorf("the changes are %q and %q", made.Change(made.Others[0]), made.Change(made.Others[1]))
	}
	given.Others = append(given.Others, given.Others[0])
	if _, err := contents.Of(given, "shops", "", ""); err == nil || !strings.Contains(err.Error(), "the bundle has ConfigMap a twice") {
		t.Errorf("the error is %v", err)
	}
}
